// What must be true of every answer. A rule has a name; a violation names the rule, the time and the facts.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import { formatFilter, getPartnerKey, getPlanListKey } from '../../src/api/cache-keys.ts'
import type { Answer } from '../../src/worker/cache/plan-lists.ts'
import type { HeldList } from '../../src/worker/cache/list-memory.ts'
import type { AccessTokenClaims } from '../../src/crypto/access-token.ts'
import type { ClientAuthentication } from '../../src/worker/token/authenticate-client.ts'
import type { ClientCredentials } from '../../src/worker/token/basic-credentials.ts'
import { renderList, type CatalogHistory, type Moment } from './catalog-history.ts'
import type { NoToken } from './report.ts'
import { maxLagMs } from './simulated-d1.ts'
import type { SimulatedIsolate, SimulatedRequest } from './simulated-isolate.ts'
import type { SimulatedKv, StoredValue } from './simulated-kv.ts'
import type { SimulatedPartners } from './simulated-partners.ts'
import type { VirtualClock } from './virtual-clock.ts'

export const ruleNames = {
  'fresh-list': 'While D1 answers, a list is at most two minutes older than the replica that it is from.',
  'fresh-access':
    'While D1 answers, a partner is treated by a record that is at most two minutes older than its replica.',
  'too-old-list': 'No list is older than 30 hours, whatever fails.',
  'd1-wins': 'An isolate treats a partner by the last answer of D1 that it asked for, whatever the clock says.',
  'outage-access': 'While D1 fails, a partner is treated by a record of the last 30 hours.',
  'suspension-holds':
    'While D1 fails, a suspended partner gets an answer only where somebody still knows it, as SECURITY.md says.',
  'ended-token': 'No list for a token from before the time that ended the tokens of the partner.',
  'right-secret':
    'A token is only for a secret that was live at the request; while D1 fails, in a record of the last 30 hours.',
  'no-wrong-401': 'A live secret of an active partner gets no 401.',
  'right-list': 'The list is for the country of the partner and the filters of the request.',
  'one-moment': 'The bytes of a list are exactly those of its revision.',
  'etag-is-bytes': 'Two ETags are equal exactly when their bytes are.',
  'honest-age': 'A list was current as many seconds ago as its age says, or later.',
  'no-step-back': 'While D1 answers, an isolate never answers with an older list than before.',
  'only-in-outage': 'An old copy or a 503 is only for a request whose isolate saw D1 fail within the last seconds.',
  'no-needless-503': 'Nobody gets a 503 while KV works and has a copy of the partner with the secret, or of the list.',
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
interface Asked {
  request: SimulatedRequest
  clientId: string
  filter: PlanFilter
  claims: AccessTokenClaims
}

const twoMinutesMs = 120_000
const maxOldMs = 30 * 3600_000
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

export function createRules(
  clock: VirtualClock,
  history: CatalogHistory,
  kv: SimulatedKv,
  partners: SimulatedPartners,
  /** A copy may be from a clock that was wrong by this much, and be read by another one. */
  maxClockStepMs: number,
) {
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
    return history.wasEver(fromMs, clock.now(), ({ partners: known }) => {
      const partner = known.get(clientId)
      return (
        partner?.shortName === access?.shortName &&
        partner?.country === access?.country &&
        partner?.isSuspended === access?.isSuspended &&
        partner?.tokensValidFrom === access?.tokensValidFrom
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
    const restoredMs = history.restoredAtMs() + twoMinutesMs + maxLagMs + slackMs + 2 * maxClockStepMs
    const isSame = before && before.atMs > restoredMs
    if (isSame && before.atMs < arrivedAtMs && revision < before.revision) {
      report('no-step-back', `from revision ${before.revision} to ${revision} of ${country}`)
    }
    if (revisions.size > 5000) revisions.clear()
    if (!isSame || revision >= before.revision) revisions.set(key, { revision, atMs: clock.now() })
  }

  /** @param isOld whether D1's failure is the reason for the answer */
  function checkAccess(asked: Asked, access: PartnerAccess | undefined, isOld: boolean): void {
    const { request, clientId } = asked
    if (isOld) {
      if (!wasAccessTrue(findOldest(request, clientId), clientId, access))
        report('outage-access', describe(asked, access))
      return
    }
    const fromMs = request.arrivedAtMs - twoMinutesMs - slackMs - maxLagMs - getMisleadingMs(request)
    if (!wasAccessTrue(fromMs, clientId, access)) report('fresh-access', describe(asked, access))
    else if (!didD1Fail(asked) && !partners.isLastAnswer(request, clientId, access)) {
      report('d1-wins', describe(asked, access))
    }
  }

  /** By how much an isolate's old check can seem younger than it is, because its clock stepped back. */
  function getMisleadingMs({ isolate: { misleadingClock }, arrivedAtMs }: SimulatedRequest): number {
    return arrivedAtMs < misleadingClock.untilMs ? misleadingClock.byMs : 0
  }

  /** True time of the oldest record that may be used while D1 fails. Of a partner: none older than D1's last answer here. */
  function findOldest({ arrivedAtMs, isolate }: SimulatedRequest, clientId?: string): number {
    const answers = clientId === undefined ? [] : (isolate.answers.get(clientId) ?? [])
    // A small memory may have evicted the check. A sign-in that is refused replaces one, but makes none.
    const isKept = isolate.maxPartners > 100 && answers.some(({ isSignIn }) => !isSignIn)
    const answeredAtMs = Math.max(-Infinity, ...answers.map(({ atMs }) => atMs).filter((atMs) => atMs < arrivedAtMs))
    const slowMs = kvCityCacheMs + slackMs + maxLagMs + 2 * maxClockStepMs
    return Math.max(arrivedAtMs - maxOldMs, isKept ? answeredAtMs : -Infinity) - slowMs
  }

  function didD1Fail({ request }: { request: SimulatedRequest }): boolean {
    const { isolate, arrivedAtMs } = request
    return isolate.d1FailedAtMs >= arrivedAtMs - outagePauseMs - getMisleadingMs(request) - 2
  }

  /** A copy that an isolate may use: some minutes off the limit, because this looks at KV after the request did. */
  function isUsable(
    copy: StoredValue | undefined,
    timeMs: number | undefined,
    { isolate, arrivedAtMs }: SimulatedRequest,
  ): boolean {
    if (copy === undefined || copy.isGarbled || timeMs === undefined || isolate.kvFailsUntilMs > clock.now())
      return false
    const ageMs = clock.now() - timeMs
    // A clock that is wrong rightly takes the copies of others for copies of the future, or for too old ones.
    const isClockRight = Math.abs(isolate.clockErrorMs) <= 1000 && isolate.clockSteppedAtMs < arrivedAtMs
    return isClockRight && ageMs > -50_000 && ageMs < maxOldMs - 10 * 60_000
  }

  function didKvFail({ isolate, arrivedAtMs }: SimulatedRequest): boolean {
    return isolate.kvFailsUntilMs >= arrivedAtMs
  }

  /** What KV's copy of a partner says, and whether this request could use it. */
  function peekPartner(clientId: string, request: SimulatedRequest): PartnerAccess | undefined {
    const copy = kv.peek(getPartnerKey(clientId))
    const { checkedAtMs } = (copy?.metadata ?? {}) as { checkedAtMs?: number }
    // An isolate keeps a copy that it read for a minute, and remembers for a minute that it found none.
    const isReadable = clock.now() - request.isolate.kvFailsUntilMs > kvCityCacheMs
    const isKnown = isReadable && copy !== undefined && clock.now() - copy.writtenAtMs > 2 * kvCityCacheMs
    const answeredAtMs = request.isolate.answers.get(clientId)?.at(-1)?.atMs ?? -Infinity
    if (!isKnown || answeredAtMs > (checkedAtMs ?? 0) || !isUsable(copy, checkedAtMs, request)) return undefined
    return JSON.parse(new TextDecoder().decode(copy.bytes)) as PartnerAccess
  }

  function isLive({ secrets }: PartnerAccess, clientSecret: string, atMs: number): boolean {
    return secrets.some(
      ({ hash, expiresAt }) =>
        partners.getSecret(hash) === clientSecret && (expiresAt === null || 1000 * expiresAt > atMs),
    )
  }

  function checkSuspension(request: SimulatedRequest, clientId: string): void {
    // A garbled copy counts as missing. Memory's check may be from before the mark that it replaced.
    const isKnown = getMisleadingMs(request) === 0 && !kv.isGarbled(getPartnerKey(clientId))
    if (isKnown && partners.mustBeForgotten(clientId)) {
      report('suspension-holds', `${clientId} (isolate ${request.isolate.id})`)
    }
  }

  function describe({ request, clientId }: Asked, access: PartnerAccess | undefined): string {
    const now = history.newest().partners.get(clientId)
    return `${clientId} treated as ${formatAccess(access)}, is ${formatAccess(now)} (isolate ${request.isolate.id})`
  }

  return {
    violations,
    report,
    checkList: (asked: Asked, partner: PartnerAccess, answer: Answer): void => {
      const { request, filter } = asked
      const { list, ageSeconds, isOld, cacheStatus } = answer
      const { country } = partner
      const text = verifyList(list, country, filter)
      const facts = `${country}?${formatFilter(filter)} at revision ${list.revision} of ${history.newest().revision}, ${cacheStatus}`
      checkAccess(asked, partner, isOld)
      checkSuspension(request, asked.clientId)
      if (asked.claims.iat < (partner.tokensValidFrom ?? 0)) report('ended-token', describe(asked, partner))
      if (isOld && !didD1Fail(asked)) report('only-in-outage', facts)
      // Fast path: most lists are those of this moment.
      const isNewest = renderList(history.newest().catalog, country, filter).text === text
      if (!isNewest) {
        const arrivedAtMs = request.arrivedAtMs - maxLagMs - slackMs - getMisleadingMs(request)
        const ageMs = 1000 * (ageSeconds + 1) + (isOld ? clockErrorMs + 2 * maxClockStepMs : 0)
        if (!wasListCurrent(findOldest(request) - slackMs, text, country, filter)) report('too-old-list', facts)
        else if (!isOld && !wasListCurrent(arrivedAtMs - twoMinutesMs, text, country, filter))
          report('fresh-list', facts)
        else if (!wasListCurrent(arrivedAtMs - ageMs, text, country, filter)) report('honest-age', facts)
      }
      if (!isOld) checkStep(asked, country, list.revision)
    },
    checkRefusal: (asked: Asked, partner: PartnerAccess | undefined) => checkAccess(asked, partner, didD1Fail(asked)),
    /** @param knownCountry the partner's, if the request got as far as its list */
    checkUnavailable: (asked: Asked, knownCountry: string | undefined, reason: string): void => {
      const { clientId, filter, request } = asked
      if (!didD1Fail(asked)) report('only-in-outage', `503 for ${clientId}`)
      if (didKvFail(request)) return
      const country = knownCountry ?? peekPartner(clientId, request)?.country
      if (country === undefined) return
      const copy = kv.peek(getPlanListKey(country, filter))
      const { currentAtMs } = (copy?.metadata ?? {}) as { currentAtMs?: number }
      if (isUsable(copy, currentAtMs, request)) {
        report(
          'no-needless-503',
          `${clientId} (${reason}): KV has ${country}?${formatFilter(filter)} of ${currentAtMs}`,
        )
      }
    },
    checkSignIn: (
      asked: { request: SimulatedRequest } & ClientCredentials,
      answer: ClientAuthentication | { kind: 'unavailable' },
    ): NoToken | undefined => {
      const { request, clientId, clientSecret } = asked
      const isOld = didD1Fail(asked)
      const facts = `${clientId} with ${clientSecret} (isolate ${request.isolate.id})`
      // The primary is asked after the arrival, and for this request alone.
      const fromMs = request.arrivedAtMs - 1
      // The isolate compares the end of a secret with its own clock.
      const endMs = request.arrivedAtMs - maxClockStepMs - 1000
      const wasRight = ({ partners: known }: Moment, atMs: number): boolean => {
        const partner = known.get(clientId)
        return partner !== undefined && !partner.isSuspended && isLive(partner, clientSecret, atMs)
      }
      switch (answer.kind) {
        case 'authenticated':
          checkSuspension(request, clientId)
          if (
            !history.wasEver(isOld ? findOldest(request, clientId) : fromMs, clock.now(), (moment) =>
              wasRight(moment, endMs),
            )
          ) {
            report('right-secret', facts)
          }
          return undefined
        case 'refused': {
          const isWrongNow = history.wasEver(
            fromMs,
            clock.now(),
            (moment) => !wasRight(moment, clock.now() + maxClockStepMs),
          )
          const wasSuspended = history.wasEver(
            findOldest(request),
            clock.now(),
            ({ partners: known }) => known.get(clientId)?.isSuspended === true,
          )
          const isOldSuspension = isOld && wasSuspended && answer.reason === 'suspended_partner'
          if (!isWrongNow && !isOldSuspension) report('no-wrong-401', `${facts}: ${answer.reason}`)
          return 'refused'
        }
        default: {
          if (!isOld) report('only-in-outage', `503 for ${facts}`)
          if (didKvFail(request)) return 'bothFailed'
          const copy = peekPartner(clientId, request)
          if (copy && !copy.isSuspended && isLive(copy, clientSecret, clock.now() + maxClockStepMs)) {
            report('no-needless-503', `${facts}: KV has a copy`)
          }
          return 'noCopy'
        }
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

function formatAccess(access: PartnerAccess | undefined): string {
  return access ? `${access.isSuspended ? 'suspended' : 'active'} in ${access.country}` : 'unknown'
}
