// What must be true of every answer. A rule has a name; a violation names the rule, the time and the facts.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import { formatFilter, getPartnerKey, getPlanListKey } from '../../src/api/cache-keys.ts'
import type { Answer } from '../../src/worker/cache/plan-lists.ts'
import type { HeldList } from '../../src/worker/cache/list-memory.ts'
import { renderList, type CatalogHistory } from './catalog-history.ts'
import { maxLagMs } from './simulated-d1.ts'
import type { SimulatedIsolate, SimulatedRequest } from './simulated-isolate.ts'
import type { SimulatedKv } from './simulated-kv.ts'
import type { VirtualClock } from './virtual-clock.ts'

export const ruleNames = {
  'fresh-list': 'While D1 answers, a list is at most two minutes older than the replica that it is from.',
  'fresh-access':
    'While D1 answers, a partner is treated by a record that is at most two minutes older than its replica.',
  'day-old-list': 'No list is older than 24 hours, whatever fails.',
  'outage-access':
    'While D1 fails, a partner is treated by a record of the last 24 hours, or of the life of its token.',
  'right-list': 'The list is for the country of the partner and the filters of the request.',
  'one-moment': 'The bytes of a list are exactly those of its revision.',
  'etag-is-bytes': 'Two ETags are equal exactly when their bytes are.',
  'honest-age': 'A list was current as many seconds ago as its age says, or later.',
  'no-step-back': 'While D1 answers, an isolate never answers with an older list than before.',
  'only-in-outage': 'An old copy or a 503 is only for a request whose isolate saw D1 fail within the last seconds.',
  'no-needless-503': 'Nobody gets a 503 while KV works and has copies of the partner and of the list.',
  'answers-in-time': 'Every request is answered within 30 s.',
  'no-bug': 'Nothing throws anything but a StorageError.',
  'bounded-memory': 'An isolate holds no more lists and partners than its bounds allow.',
}
export type RuleName = keyof typeof ruleNames

export interface Violation {
  rule: RuleName
  /** True Unix milliseconds. */
  atMs: number
  facts: string
}

/** A request as the rules see it. */
export interface Asked {
  request: SimulatedRequest
  clientId: string
  filter: PlanFilter
  /** True time at which the token was issued. */
  tokenIssuedAtMs: number
}

export interface Rules {
  checkList: (asked: Asked, partner: PartnerAccess, answer: Answer) => void
  checkRefusal: (asked: Asked, partner: PartnerAccess | undefined) => void
  /** @param country the partner's, if the request got as far as its list */
  checkUnavailable: (asked: Asked, country: string | undefined, reason: string) => void
  report: (rule: RuleName, facts: string) => void
  violations: Violation[]
}

const twoMinutesMs = 120_000
const dayMs = 24 * 3600_000
/** Between arrival and the check that it shares, by shared-work.ts, and rounding to milliseconds. */
const slackMs = 6100
/** Isolates differ by up to a second, and a copy says when it was current by the clock of its writer. */
const clockErrorMs = 1100
/** freshness.ts: after a failure D1 isn't asked again, and then by one request, while the others still get old copies. */
const outagePauseMs = 10_000 + 2 * 6000
/** KV's copies in a city outlive the end of their key. */
const kvCityCacheMs = 62_000

interface VerifiedList {
  body: Uint8Array
  etag: string
  text: string
}

export function createRules(clock: VirtualClock, history: CatalogHistory, kv: SimulatedKv): Rules {
  const violations: Violation[] = []
  const verifiedLists = new WeakMap<HeldList, VerifiedList>()
  const textsByEtag = new Map<string, string>()
  const etagsByText = new Map<string, string>()
  /** The newest revision that each isolate has answered with, by key. */
  const answered = new WeakMap<SimulatedIsolate, Map<string, { revision: number; atMs: number }>>()

  function report(rule: RuleName, facts: string): void {
    violations.push({ rule, atMs: clock.now(), facts })
  }

  function wasListCurrent(fromMs: number, text: string, country: string, filter: PlanFilter): boolean {
    return history.wasEver(fromMs, clock.now(), ({ catalog }) => renderList(catalog, country, filter).text === text)
  }

  function wasAccessTrue(fromMs: number, clientId: string, access: PartnerAccess | undefined): boolean {
    return history.wasEver(fromMs, clock.now(), ({ partners }) => {
      const partner = partners.get(clientId)
      return (
        partner?.shortName === access?.shortName &&
        partner?.country === access?.country &&
        partner?.isSuspended === access?.isSuspended
      )
    })
  }

  /** Decodes a list once, as long as the isolate holds it. */
  function verifyList(list: HeldList, country: string, filter: PlanFilter): string {
    const verified = verifiedLists.get(list)
    if (verified?.body === list.body && verified.etag === list.etag) return verified.text
    const decoded = new TextDecoder().decode(list.body)
    // The same string object makes later comparisons cheap.
    const rendered = history.renderAtRevision(list.revision, country, filter)
    const text = rendered === decoded ? rendered : decoded
    verifiedLists.set(list, { body: list.body, etag: list.etag, text })
    const names = parseNames(text)
    if (names?.country !== country || names.filters !== formatFilter(filter)) {
      report('right-list', `${names?.country}?${names?.filters} for ${country}?${formatFilter(filter)}`)
    } else if (rendered !== undefined && rendered !== text) {
      report('one-moment', `revision ${list.revision} of ${country}?${formatFilter(filter)}`)
    }
    if ((etagsByText.get(text) ?? list.etag) !== list.etag || (textsByEtag.get(list.etag) ?? text) !== text) {
      report('etag-is-bytes', list.etag)
    }
    if (etagsByText.size > 20_000) {
      etagsByText.clear()
      textsByEtag.clear()
    }
    etagsByText.set(text, list.etag)
    textsByEtag.set(list.etag, text)
    return text
  }

  function checkStep({ request, filter }: Asked, country: string, revision: number): void {
    const { isolate, arrivedAtMs } = request
    const revisions = answered.get(isolate) ?? new Map<string, { revision: number; atMs: number }>()
    answered.set(isolate, revisions)
    const key = getPlanListKey(country, filter)
    const before = revisions.get(key)
    // A restore takes everybody back, within the time that a check is used.
    const isSame = before && before.atMs > history.restoredAtMs() + twoMinutesMs + maxLagMs + slackMs
    if (isSame && before.atMs < arrivedAtMs && revision < before.revision) {
      report('no-step-back', `from revision ${before.revision} to ${revision} of ${country}`)
    }
    if (revisions.size > 5000) revisions.clear()
    if (!isSame || revision >= before.revision) revisions.set(key, { revision, atMs: clock.now() })
  }

  /** @param isOld whether D1's failure is the reason for the answer */
  function checkAccess(asked: Asked, access: PartnerAccess | undefined, isOld: boolean): void {
    const { request, clientId, tokenIssuedAtMs } = asked
    if (isOld) {
      const fromMs = Math.min(request.arrivedAtMs - dayMs, tokenIssuedAtMs) - kvCityCacheMs - maxLagMs
      if (!wasAccessTrue(fromMs, clientId, access)) report('outage-access', describe(asked, access))
    } else if (!wasAccessTrue(request.arrivedAtMs - twoMinutesMs - slackMs - maxLagMs, clientId, access)) {
      report('fresh-access', describe(asked, access))
    }
  }

  function didD1Fail({ request: { isolate, arrivedAtMs } }: Asked): boolean {
    return isolate.d1FailedAtMs >= arrivedAtMs - outagePauseMs - 2
  }

  function describe({ request, clientId }: Asked, access: PartnerAccess | undefined): string {
    const now = history.newest().partners.get(clientId)
    return `${clientId} treated as ${formatAccess(access)}, is ${formatAccess(now)} (isolate ${request.isolate.id})`
  }

  return {
    violations,
    report,
    checkList: (asked, partner, answer) => {
      const { request, filter } = asked
      const { list, ageSeconds, cacheStatus } = answer
      const { country } = partner
      const text = verifyList(list, country, filter)
      const isOld = cacheStatus.includes('storage-unavailable')
      const facts = `${country}?${formatFilter(filter)} at revision ${list.revision} of ${history.newest().revision}, ${cacheStatus}`
      checkAccess(asked, partner, isOld)
      if (isOld && !didD1Fail(asked)) report('only-in-outage', facts)
      // Fast path: most lists are those of this moment.
      const isNewest = renderList(history.newest().catalog, country, filter).text === text
      if (!isNewest) {
        const arrivedAtMs = request.arrivedAtMs - maxLagMs - slackMs
        const ageMs = 1000 * (ageSeconds + 1) + (isOld ? clockErrorMs : 0)
        if (!wasListCurrent(arrivedAtMs - dayMs - clockErrorMs, text, country, filter)) report('day-old-list', facts)
        else if (!isOld && !wasListCurrent(arrivedAtMs - twoMinutesMs, text, country, filter))
          report('fresh-list', facts)
        else if (!wasListCurrent(arrivedAtMs - ageMs, text, country, filter)) report('honest-age', facts)
      }
      if (!isOld) checkStep(asked, country, list.revision)
    },
    checkRefusal: (asked, partner) => checkAccess(asked, partner, didD1Fail(asked)),
    checkUnavailable: (asked, knownCountry, reason) => {
      const { clientId, filter, request } = asked
      if (!didD1Fail(asked)) report('only-in-outage', `503 for ${clientId}`)
      if (request.isolate.kvFailsUntilMs >= request.arrivedAtMs) return
      const country = knownCountry ?? parsePartner(kv.peek(getPartnerKey(clientId))?.bytes)?.country
      if (country === undefined) return
      const copy = kv.peek(getPlanListKey(country, filter))
      const { currentAtMs, bytes } = (copy?.metadata ?? {}) as { currentAtMs?: number; bytes?: number }
      if (currentAtMs === undefined || bytes !== copy?.bytes.length) return
      // Some minutes off the limit, because this looks at KV after the request did.
      if (clock.now() - currentAtMs < dayMs - 10 * 60_000) {
        const ageMinutes = Math.round((clock.now() - currentAtMs) / 60_000)
        report(
          'no-needless-503',
          `${clientId} (${reason}): KV has ${country}?${formatFilter(filter)} of ${ageMinutes} minutes`,
        )
      }
    },
  }
}

function parseNames(text: string): { country?: string; filters?: string } | undefined {
  try {
    return JSON.parse(text) as { country?: string; filters?: string }
  } catch {
    return undefined
  }
}

function parsePartner(bytes: Uint8Array | undefined): { country: string } | undefined {
  const { country, isSuspended } = (parseNames(new TextDecoder().decode(bytes)) ?? {}) as Partial<PartnerAccess>
  return country !== undefined && isSuspended === false ? { country } : undefined
}

function formatAccess(access: PartnerAccess | undefined): string {
  return access ? `${access.isSuspended ? 'suspended' : 'active'} in ${access.country}` : 'unknown'
}
