// The rules for every answer of the service. README.md has them in words.
import { getPlanListKey } from '../../src/api/cache-keys.ts'
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { formatKeyName } from '../../src/crypto/signing-keys.ts'
import type { D1World } from './d1-world.ts'
import { formatMoment, type Town } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import { computeEtag, type Account, type PartnerState, type TownRecord } from './record.ts'
import { aheadMs, behindMs, tinyBytes, type Answer, type Service } from './service.ts'
import { hourMs, minuteMs, secondMs, type Weather } from './weather.ts'

/** A secret that an operator's command made. */
export interface Secret {
  text: string
  commandId: number
  shownAtMs: number
}

export interface Token {
  text: string
  secret: Secret
  account: Account
  /** When the request for the token arrived, and when it was answered. */
  fromMs: number
  toMs: number
  expiresAtMs: number
  /** Whether D1 failed at the sign-in, so that a copy may have decided. */
  isFromCopy: boolean
}

interface ListRequest {
  shortName: string
  filter: PlanFilter
  query: string
}

export type Rules = ReturnType<typeof createRules>
type Report = (rule: string, facts?: string) => void
type World = Town & { weather: Weather; d1: D1World; kv: KvWorld; service: Service; record: TownRecord }

/** How old a check or a list may be while D1 answers, and while it fails. */
const freshMs = 2 * minuteMs
const outageMs = 30 * hourMs
/** After a failure of D1, an isolate pauses for 10 s; up to 6 s later, one request asks, and others use copies for 6 s. */
const pauseMs = 23 * secondMs
/** Other requests take over the work of a cancelled one when it is 11 s old. */
const cancelledMs = 12 * secondMs
/** How long after a mark access ends everywhere. */
const markedMs = 3 * minuteMs
const maxListBytes = 24 * 1024 * 1024

export function createRules({ clock, weather, d1, kv, service, record, journal }: World) {
  /** The marks in KV, by the key of the partner: when a command made one, and when an isolate overwrote it, to which KV did not show it. */
  const marks = new Map<string, { atMs: number; endedAtMs: number; change: 'made' | 'overwritten' }[]>()
  const keyOf = ({ clientId }: Account) => `partner:v3:${clientId}`

  kv.watch((key, metadata, path, shownMs) => {
    if (!key.startsWith('partner:')) return
    const [endedAtMs, checkedAtMs] = [Number(metadata['endedAtMs'] ?? 0), Number(metadata['checkedAtMs'] ?? 0)]
    const entry = checkedAtMs > 0 ? `a copy of ${formatMoment(checkedAtMs)}` : `a mark of ${formatMoment(endedAtMs)}`
    journal.note(`${path} writes ${endedAtMs + checkedAtMs > 0 ? entry : 'nothing'} to KV's ${key}`, key)
    const changes = marks.get(key) ?? []
    const mark = changes.at(-1)
    const isOverwritten = path !== 'api' && checkedAtMs < (mark?.endedAtMs ?? 0) + minuteMs
    if (isOverwritten && mark && shownMs >= mark.atMs) {
      const facts = `${path} was shown ${key} as of ${formatMoment(shownMs)}, and writes ${entry}`
      journal.report('no copy replaces a mark that its isolate was shown', facts, key)
    }
    const change = isOverwritten ? 'overwritten' : path === 'api' ? 'made' : undefined
    if (change) marks.set(key, [...changes, { atMs: clock.nowMs(), endedAtMs, change }])
  })

  /** Whether D1 failed for the isolate, so that a copy may have decided. */
  const isOutage = ({ isolate, fromMs }: Answer) =>
    isolate.d1FailedAtMs >= fromMs - (isolate.steppedAtMs > fromMs - minuteMs ? 2 : 1) * pauseMs

  /** Returns the earliest time at which the facts were true that an answer may rely on. @param isOld whether D1 failed. */
  function findStart({ fromMs, isolate }: Answer, isOld: boolean): number {
    const lagMs = weather.maxLagSince(fromMs - 5 * minuteMs)
    const stepMs = isolate.steppedAtMs > fromMs - 5 * minuteMs - lagMs ? minuteMs : 0
    return fromMs - lagMs - stepMs - freshMs - secondMs - (isOld ? outageMs : 0)
  }

  /** Returns the states of a partner in a period. */
  const listStates = ({ states }: Account, fromMs: number, toMs: number) =>
    states.filter((state, index) => state.fromMs <= toMs && (states[index + 1]?.fromMs ?? Infinity) > fromMs)

  /** Returns when a secret ends in a state of its partner: -Infinity if it is not live. */
  const findEnd = ({ isSuspended, secrets }: PartnerState, secret: Secret) =>
    (!isSuspended && secrets.find(({ commandId }) => commandId === secret.commandId)?.endsAtMs) || -Infinity

  /** Whether a token must be refused in a state of its partner, and whether it must be accepted. Neither: both answers are right. */
  function judge({ isSuspended, ended }: PartnerState, { secret, fromMs, toMs, isFromCopy }: Token) {
    const isEnded = ended && (toMs < ended.atMs || (ended.isLockdown && secret.shownAtMs < ended.atMs))
    const sinceMs = isFromCopy ? fromMs - outageMs - freshMs : fromMs
    return { isRefused: isSuspended || isEnded, isAccepted: !isSuspended && (!ended || sinceMs >= ended.atMs) }
  }

  /** Whether access ended long enough ago to be refused while D1 fails, but for the exceptions of SECURITY.md. */
  function isLongEnded({ isolate, fromMs }: Answer, account: Account, refuses: (state: PartnerState) => boolean) {
    const ended = account.states[account.states.findLastIndex((state) => !refuses(state)) + 1]
    if (ended === undefined) return false
    const changes = (marks.get(keyOf(account)) ?? []).filter(({ atMs }) => atMs >= ended.fromMs)
    const mark = changes.find(({ change, endedAtMs }) => change === 'made' && endedAtMs >= ended.fromMs)
    const isExcepted =
      isolate.kvFailedAtMs >= fromMs - markedMs ||
      weather.maxLagSince(ended.fromMs - minuteMs) > minuteMs - aheadMs ||
      changes.some(({ change }) => change === 'overwritten')
    const stepMs = isolate.steppedAtMs > ended.fromMs - markedMs ? behindMs + aheadMs : 0
    return !isExcepted && mark !== undefined && fromMs > mark.atMs + markedMs + stepMs + secondMs
  }

  /** Whether KV has had a mark for minutes, without a newer copy in between, and D1 has told the isolate nothing since. */
  function isMarked({ isolate, fromMs, toMs }: Answer, account: Account) {
    const stepMs = isolate.steppedAtMs > fromMs - 2 * markedMs ? behindMs + aheadMs : 0
    const entries = kv.listEntries(keyOf(account), fromMs - markedMs - stepMs - secondMs, toMs)
    const [mark = 0, ...laterMarks] = entries.map((entry) => Number(entry?.metadata['endedAtMs'] ?? 0))
    const wasKept = laterMarks.every((endedAtMs) => endedAtMs >= mark)
    return mark > 0 && wasKept && isolate.d1AnsweredAtMs < mark && isolate.kvFailedAtMs < fromMs - markedMs - stepMs
  }

  /** Whether an isolate must have what answers a question in an outage, in memory or in KV. */
  function mustHaveCopy({ isolate, fromMs }: Answer, question: string, account: Account, lists: string[] = []) {
    const changedAtMs = Math.max(account.states.at(-1)?.fromMs ?? 0, marks.get(keyOf(account))?.at(-1)?.atMs ?? 0)
    const isUsable = (atMs: number) => atMs > Math.max(changedAtMs + 10 * minuteMs, fromMs - outageMs + hourMs)
    const isInKv = (key: string, atMs: number) => {
      const { checkedAtMs, currentAtMs, mac } = kv.read(key, atMs)?.metadata ?? {}
      const isSealed = typeof mac !== 'string' || formatKeyName(mac.slice(0, 10)) in isolate.secrets
      return isSealed && isUsable(Number(checkedAtMs ?? currentAtMs ?? 0))
    }
    // A location sees another entry a minute later, and an isolate keeps what it read for a minute.
    const [beforeMs, keys] = [fromMs - 2 * minuteMs - secondMs, [keyOf(account), ...lists]]
    const hasKv = isolate.kvFailedAtMs < beforeMs && keys.every((key) => isInKv(key, beforeMs) && isInKv(key, fromMs))
    // Without an entry, no command could end access.
    const hasEntry = [beforeMs, fromMs].every((atMs) => kv.read(keyOf(account), atMs) !== undefined)
    return hasKv || (!isolate.isTiny && hasEntry && isUsable(isolate.answered.get(question) ?? 0))
  }

  /** Notes an answer, and checks its duration. @returns reports a broken rule about it. */
  function note(answer: Answer, account: Account, what: string, isOld: boolean): Report {
    const { isolate, status, headers, fromMs, toMs } = answer
    const cache = headers.get('Cache-Status') ?? readError(answer)
    const text = `${isolate.name} ${status} ${cache}, in ${Math.round(toMs - fromMs)} ms: ${account.shortName} ${what}`
    journal.note(text, isolate.name, account.shortName)
    journal.count(`${what.slice(0, 4)} ${status}${isOld ? ' while D1 may fail' : ''}`)
    const report: Report = (rule, facts = '') => {
      const states = account.states.slice(-4).map((state) => `${state.kind} at ${formatMoment(state.fromMs)}`)
      const all = `${text}\nAsked at ${formatMoment(fromMs)}. ${states.join(', ')}. ${facts}`
      const catalog = what.startsWith('lists') ? ['catalog'] : []
      journal.report(rule, all, account.shortName, isolate.name, keyOf(account), ...catalog)
    }
    const isCalm = weather.troubleUntilMs() < fromMs - secondMs && isolate.cancelledAtMs < fromMs - cancelledMs
    if (isCalm && toMs - fromMs > 3 * secondMs) report('an answer is quick while all is well')
    return report
  }

  /** @param secret undefined for a guess. @returns the token. */
  function checkSignIn(answer: Answer, shortName: string, secret: Secret | undefined): Token | undefined {
    const account = record.accounts.get(shortName)
    if (account === undefined) return undefined
    const { isolate, status, fromMs, toMs, denied, body } = answer
    const isOld = isOutage(answer)
    const password = secret ? `the secret of command ${secret.commandId}` : 'a guess'
    const report = note(answer, account, `signs in with ${password}`, isOld)
    const question = `token ${secret?.text}`
    const isKnown = (isolate.answered.get(question) ?? 0) > fromMs - 9 * minuteMs
    const isLive = (since: number, atMs: number, isSure: boolean) => {
      const states = secret ? listStates(account, since, toMs) : []
      const lives = states.map((state) => secret !== undefined && findEnd(state, secret) > atMs)
      return isSure ? lives.length > 0 && lives.every(Boolean) : lives.some(Boolean)
    }
    const isCertain = isLive(fromMs, toMs + aheadMs, true)
    const startMs = isOld ? findStart(answer, true) : fromMs
    if (status === 200 && secret) {
      if (!isLive(startMs, fromMs - (isOld ? behindMs : 0), false)) report('an ended secret signs in no more')
      if (isMarked(answer, account)) report('a mark ends access while D1 fails')
      if (!isOld) isolate.answered.set(question, toMs)
      else if (isLongEnded(answer, account, (state) => findEnd(state, secret) === -Infinity))
        report('ended access ends while D1 fails')
      const { access_token: text, expires_in: seconds } = readJson(body) as { access_token: string; expires_in: number }
      return { text, secret, account, fromMs, toMs, expiresAtMs: fromMs + seconds * secondMs, isFromCopy: isOld }
    }
    if (status === 401 && isCertain) report('no needless 401')
    const isKnownDenied = denied.some((key) => key.startsWith('known:'))
    if (status === 429 && (denied.length === 0 || (isCertain && isKnown && !isKnownDenied))) report('no needless 429')
    if (status === 503 && (!isOld || (isCertain && mustHaveCopy(answer, question, account)))) report('no needless 503')
    if (![401, 429, 503].includes(status)) report('no other status')
    return undefined
  }

  function checkList(answer: Answer, token: Token, { shortName, filter, query }: ListRequest): void {
    const { isolate, status, fromMs, toMs, headers, body } = answer
    const { account, expiresAtMs } = token
    const isOld = isOutage(answer)
    const source = `of ${formatMoment(token.toMs)}${token.isFromCopy ? ' from a copy' : ''}, of command ${token.secret.commandId}`
    const report = note(answer, account, `lists ${shortName}/plans${query} with a token ${source}`, isOld)
    const states = listStates(account, findStart(answer, isOld), toMs)
    const verdicts = states.map((state) => judge(state, token))
    const isUnexpired = expiresAtMs > toMs + behindMs + aheadMs + secondMs
    const isCertain = verdicts.every(({ isAccepted }) => isAccepted) && isUnexpired
    // Copies of a suspension refuse nobody.
    const isOfRestore = isOld && d1.restoredAtMs() > fromMs - outageMs
    const latest = listStates(account, findStart(answer, isOfRestore), toMs)
    const isCertainNow = latest.every((state) => judge(state, token).isAccepted) && isUnexpired
    const question = `list ${account.shortName} ${query}`
    if (status === 200 || status === 304) {
      const etag = headers.get('ETag') ?? ''
      if (verdicts.every(({ isRefused }) => isRefused)) report('an ended token lists no more')
      const issuedInMs = token.toMs - token.fromMs
      if (expiresAtMs + issuedInMs + aheadMs + behindMs + secondMs < fromMs) report('an expired token lists no more')
      if (shortName !== account.shortName) report('a partner lists only as itself')
      const refusedAtMs = isolate.refused.get(token.text) ?? 0
      const hasReturned = refusedAtMs > (account.states.at(-1)?.fromMs ?? 0) && refusedAtMs < fromMs
      if (hasReturned && !isOld) report('a token that an isolate has refused lists no more')
      if (status === 200 && computeEtag(body) !== etag) report('a list has its own ETag')
      if (isMarked(answer, account)) report('a mark ends access while D1 fails')
      if (!isOld) isolate.answered.set(question, toMs)
      else if (isLongEnded(answer, account, (state) => judge(state, token).isRefused === true))
        report('ended access ends while D1 fails')
      const etags = states.map(({ country }) => record.listEtags(country, filter))
      return checkVersion(answer, etags, isOld, report)
    }
    const { kid } = readJson(Buffer.from(token.text.split('.')[0] ?? '', 'base64url')) as { kid: string }
    const error = readError(answer)
    const [name, { secrets, deployedAtMs }] = [formatKeyName(kid), service.state]
    // A key that was dropped is unknown, and for a minute one that signs at once in its place.
    const mayLackKey = !(name in isolate.secrets) && (!(name in secrets) || deployedAtMs > fromMs - minuteMs)
    // Slow readers may hold all of a tiny memory.
    const mayBeFull = isOld || isolate.isTiny
    // Not because the isolate doesn't know yet that access was given back.
    const isRefused = verdicts.at(-1)?.isRefused && error === 'invalid_token' && !mayLackKey && !isOld
    if (isRefused) isolate.refused.set(token.text, toMs)
    if (status === 401 && isCertainNow && !mayLackKey) report('no needless 401')
    if (status === 403 && shortName === account.shortName) report('no needless 403')
    const lists = states.map(({ country }) => getPlanListKey(country, filter))
    const isNeedless = !mayBeFull || (isCertain && mustHaveCopy(answer, question, account, lists))
    if (status === 503 && isNeedless) report('no needless 503')
    if (![401, 403, 503].includes(status)) report('no other status')
  }

  /** A list is one of the catalog's, not too old, and not older than one that the isolate has seen. */
  function checkVersion(answer: Answer, lists: (readonly string[])[], isOld: boolean, report: Report): void {
    const { fromMs, toMs, seenVersion, headers } = answer
    const etag = headers.get('ETag')
    const startMs = findStart(answer, isOld)
    const { versions } = record
    const isPossible = (index: number) =>
      (versions[index]?.fromMs ?? 0) <= toMs && (versions[index + 1]?.fromMs ?? Infinity) > startMs
    const found = lists.map((etags) => etags.findLastIndex((known, index) => known === etag && isPossible(index)))
    const newest = Math.max(-1, ...found)
    const facts = `Version ${newest} of ${versions.length - 1}, seen ${seenVersion} of ${formatMoment(versions[seenVersion]?.fromMs ?? 0)}.`
    if (newest === -1) report('a list is what the catalog was', facts)
    // Replicas still know what Time Travel took back.
    const settlesAtMs = d1.restoredAtMs() + freshMs + weather.maxLagSince(d1.restoredAtMs() - 5 * minuteMs)
    if (!isOld && newest < seenVersion && fromMs > settlesAtMs)
      report('no list is older than one that the isolate has seen', facts)
  }

  /** Watches the memory of isolates, and finds due publications that were not published. */
  async function watch(): Promise<void> {
    for (;;) {
      await clock.sleep(minuteMs)
      for (const { name, maps, isTiny, steppedAtMs } of service.state.isolates) {
        const values = maps.map((map) => [...map.values()] as { body?: Uint8Array; startedAtMs?: number }[])
        const bytes = values.flat().reduce((sum, { body }) => sum + (body?.byteLength ?? 0), 0)
        const stepMs = steppedAtMs > clock.nowMs() - hourMs ? behindMs + aheadMs : 0
        // Work that is older than the newest work of its map by this was cancelled.
        const isForgotten = values.every((valuesOfMap) => {
          const startTimes = valuesOfMap.flatMap(({ startedAtMs }) => startedAtMs ?? [])
          return Math.max(...startTimes) - Math.min(...startTimes) < cancelledMs + stepMs
        })
        const facts = `${name} holds ${bytes} bytes of lists, and ${isForgotten ? 'no' : 'some'} cancelled work`
        if (bytes > (isTiny ? tinyBytes : maxListBytes) || !isForgotten)
          journal.report('memory is bounded', facts, name)
      }
      const lateMs = clock.nowMs() - 12 * minuteMs
      const overdue = service.state.scheduleTroubleAtMs < lateMs ? record.listOverdue(lateMs) : []
      if (overdue.length > 0) journal.report('what is due is published', overdue.join(', '), 'catalog')
    }
  }

  return { checkSignIn, checkList, start: () => void watch() }
}

const readJson = (body: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(body))
const readError = ({ status, body }: Answer) => (status < 400 ? '' : (readJson(body) as { error: string }).error)
