// The rules for every answer of the service. README.md has them in words.
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { parseKeyName } from '../../src/crypto/signing-keys.ts'
import type { Clock } from './clock.ts'
import type { D1World } from './d1-world.ts'
import { formatMoment, type Journal } from './journal.ts'
import type { KvWorld } from './kv-world.ts'
import { computeEtag, type Account, type PartnerState, type TownRecord } from './record.ts'
import type { Answer, Service } from './service.ts'
import { locations, type Weather } from './weather.ts'

/** A secret, by the command that made it. */
export interface Secret {
  text: string
  commandId: number
  shownAtMs: number
}

export interface Token {
  text: string
  shortName: string
  clientId: string
  secret: Secret
  /** When the request for it arrived, and when it was answered. */
  fromMs: number
  toMs: number
  expiresAtMs: number
  /** Whether D1 failed, so that a copy may have decided. */
  isFromCopy: boolean
}

const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const freshMs = 2 * minuteMs
const outageMs = 30 * hourMs
/** A pause after a failure, then a probe. */
const pauseMs = 17 * secondMs
/** Work of a cancelled request is waited for. */
const poisonMs = 22 * secondMs
const endedInOutageMs = 3 * minuteMs
/** Isolates are at most 45 s behind the true time, and 3 s ahead. */
const [behindMs, aheadMs] = [45 * secondMs, 3 * secondMs]

export function createRules(
  clock: Clock,
  weather: Weather,
  d1: D1World,
  kv: KvWorld,
  service: Service,
  record: TownRecord,
  journal: Journal,
) {
  /** When operators marked a partner in KV, by key. */
  const marks = new Map<string, number[]>()
  kv.watch((key, entry, path) => {
    const { shortName, endedAtMs, checkedAtMs } = entry?.metadata ?? {}
    const what =
      entry === undefined
        ? 'deletes the key'
        : endedAtMs === undefined
          ? `writes a copy of ${formatMoment(Number(checkedAtMs))}`
          : `marks it, ended at ${formatMoment(Number(endedAtMs))}`
    if (key.startsWith('partner:')) journal.note(`KV: ${path} ${what} of ${String(shortName ?? key)}`, key)
    if (path === 'api' && endedAtMs !== undefined) marks.set(key, [...(marks.get(key) ?? []), clock.nowMs()])
  })

  /** Whether D1 failed for the isolate of an answer, so that a copy may have decided. */
  function isOutage({ isolate, fromMs }: Answer): boolean {
    const allowanceMs = pauseMs + (isolate.steppedAtMs > fromMs - minuteMs ? pauseMs : 0)
    return isolate.d1FailedAtMs >= fromMs - allowanceMs || isolate.cancelledAtMs >= fromMs - poisonMs
  }

  /** From when on something may have been true that an answer says. */
  function startOf(answer: Answer, isOld: boolean): number {
    const { fromMs, isolate } = answer
    const lagMs = weather.maxLagSince(fromMs - freshMs - 5 * minuteMs)
    const stepMs = isolate.steppedAtMs > fromMs - 2 * freshMs - lagMs ? minuteMs : 0
    return fromMs - lagMs - stepMs - secondMs - (isOld ? outageMs + freshMs : freshMs)
  }

  const statesBetween = ({ states }: Account, fromMs: number, toMs: number): PartnerState[] =>
    states.filter((state, index) => state.fromMs <= toMs && (states[index + 1]?.fromMs ?? Infinity) > fromMs)

  const findEnd = (state: PartnerState, { commandId }: Secret) =>
    state.isSuspended
      ? -Infinity
      : (state.secrets.find((secret) => secret.commandId === commandId)?.endsAtMs ?? -Infinity)

  /** Checks that access that ended stays ended while D1 fails. @param refuses whether a state gives no access. */
  function checkEnded(answer: Answer, account: Account, refuses: (state: PartnerState) => boolean, what: string): void {
    const { states, clientId, shortName } = account
    const last = states.findLastIndex((state) => !refuses(state))
    const endedAtMs = states[last + 1]?.fromMs
    if (endedAtMs === undefined) return
    const markedAtMs = marks.get(`partner:v3:${clientId}`)?.find((atMs) => atMs >= endedAtMs - 10 * secondMs)
    // The exceptions of SECURITY.md.
    if (markedAtMs === undefined) return
    if (answer.isolate.kvFailedAtMs >= answer.fromMs - endedInOutageMs) return
    if (weather.maxLagSince(endedAtMs - minuteMs) > 55 * secondMs) return
    if (answer.fromMs <= Math.max(endedAtMs, markedAtMs) + endedInOutageMs + aheadMs + 2 * secondMs) return
    const [ended, marked] = [endedAtMs, markedAtMs].map((ms) => formatMoment(ms))
    journal.report(
      'ended access ends while D1 fails',
      `${what} at ${answer.isolate.name}: access ended at ${ended}, marked at ${marked}`,
      ...subjectsOf(answer, shortName),
    )
  }

  const subjectsOf = ({ isolate }: Answer, shortName: string) => {
    const clientId = record.accounts.get(shortName)?.clientId
    return [shortName, isolate.name, `partner:v3:${clientId}`]
  }

  /** What is known of each answer. @returns the rule's report. */
  function describe(answer: Answer, what: string): string {
    const { isolate, status, fromMs, toMs } = answer
    const text = status < 400 ? '' : ` ${new TextDecoder().decode(answer.body)}`
    const cache = answer.headers.get('Cache-Status') ?? ''
    return `${what} at ${isolate.name}, from ${formatMoment(fromMs)} for ${Math.round(toMs - fromMs)} ms: ${status}${text} ${cache}`
  }

  /** Whether an isolate has in memory what it needs to answer in an outage. */
  function hasCopy({ isolate, fromMs }: Answer, question: string, account: Account): boolean {
    const answeredAtMs = isolate.answered.get(question) ?? -Infinity
    const changedAtMs = account.states.at(-1)?.fromMs ?? 0
    const isUnchanged =
      changedAtMs < answeredAtMs - 10 * minuteMs &&
      (marks.get(`partner:v3:${account.clientId}`)?.at(-1) ?? 0) < answeredAtMs - 10 * minuteMs
    return !isolate.isTiny && isUnchanged && answeredAtMs > fromMs - outageMs + hourMs
  }

  function checkDuration(answer: Answer, what: string, shortName: string): void {
    const { isolate, fromMs, toMs } = answer
    const isQuiet = weather.troubleUntilMs() < fromMs - secondMs && isolate.cancelledAtMs < fromMs - poisonMs / 2
    if (isQuiet && toMs - fromMs > 3 * secondMs) {
      journal.report('an answer is quick while all is well', describe(answer, what), ...subjectsOf(answer, shortName))
    }
  }

  /** @param secret undefined for a guess. @returns the token. */
  function checkSignIn(answer: Answer, shortName: string, secret: Secret | undefined): Token | undefined {
    const account = record.accounts.get(shortName)
    const { isolate, status, fromMs, toMs, denied } = answer
    const what = `${shortName} signs in${secret ? ` with the secret of command ${secret.commandId}` : ' with a wrong secret'}`
    const isOld = isOutage(answer)
    journal.count(`token ${status}${isOld ? ' while D1 fails' : ''}`)
    journal.note(describe(answer, what), shortName)
    const report = (rule: string) => journal.report(rule, describe(answer, what), ...subjectsOf(answer, shortName))
    checkDuration(answer, what, shortName)
    const question = `token ${shortName} ${secret?.text}`
    const now = account && secret ? statesBetween(account, fromMs, toMs).map((state) => findEnd(state, secret)) : []
    const isCertain = now.length > 0 && now.every((endsAtMs) => endsAtMs > toMs + aheadMs)
    switch (status) {
      case 200: {
        const past =
          account && secret
            ? statesBetween(account, startOf(answer, isOld) * Number(isOld) + fromMs * Number(!isOld), toMs)
            : []
        const isPossible = past.some((state) => secret && findEnd(state, secret) > fromMs - behindMs)
        if (!isPossible) report('an ended secret signs in no more')
        if (account === undefined || secret === undefined) return undefined
        if (isOld) checkEnded(answer, account, (state) => findEnd(state, secret) === -Infinity, what)
        else isolate.answered.set(question, toMs)
        const { access_token: text = '', expires_in: seconds } = JSON.parse(new TextDecoder().decode(answer.body)) as {
          access_token?: string
          expires_in: number
        }
        return {
          text,
          shortName,
          clientId: account.clientId,
          secret,
          fromMs,
          toMs,
          expiresAtMs: fromMs + seconds * secondMs,
          isFromCopy: isOld,
        }
      }
      case 401: {
        const isSuspended =
          account !== undefined &&
          statesBetween(account, startOf(answer, true), toMs).some((state) => state.isSuspended)
        if (isCertain && !(isOld && isSuspended)) report('no needless 401')
        return undefined
      }
      case 429: {
        const isKnown = isCertain && (isolate.answered.get(question) ?? -Infinity) > fromMs - 9 * minuteMs
        if (denied.length === 0 || (isKnown && !denied.some((key) => key.startsWith('known:'))))
          report('no needless 429')
        return undefined
      }
      case 503:
        if (!isOld || (isCertain && account && hasCopy(answer, question, account))) report('no needless 503')
        return undefined
      default:
        report('no other status')
        return undefined
    }
  }

  /** Whether a state of the partner certainly refuses a token, and whether it certainly accepts it. */
  function judge(state: PartnerState, token: Token): { isRefused: boolean; isAccepted: boolean } {
    const { isSuspended, ended } = state
    const madeAtMs = token.secret.shownAtMs
    const isEnded = ended !== undefined && (token.toMs < ended.atMs || (ended.isLockdown && madeAtMs < ended.atMs))
    const sinceMs = token.isFromCopy ? token.fromMs - outageMs - freshMs : token.fromMs
    return {
      isRefused: isSuspended || isEnded,
      isAccepted: !isSuspended && (ended === undefined || sinceMs >= ended.atMs),
    }
  }

  function checkList(
    answer: Answer,
    token: Token,
    asked: { shortName: string; filter: PlanFilter; query: string },
  ): void {
    const { isolate, status, fromMs, toMs, headers, body } = answer
    const { shortName } = token
    const account = record.accounts.get(shortName)
    if (account === undefined) return
    const what = `${shortName} lists ${asked.shortName}/plans${asked.query} with a token of ${formatMoment(token.toMs)}, of the secret of command ${token.secret.commandId}${token.isFromCopy ? ', from a copy' : ''}`
    const isOld = isOutage(answer)
    journal.count(`list ${status}${isOld ? ' while D1 fails' : ''}`)
    journal.note(describe(answer, what), shortName)
    const report = (rule: string, facts = '') =>
      journal.report(rule, `${describe(answer, what)} ${facts}`, ...subjectsOf(answer, shortName), 'catalog')
    checkDuration(answer, what, shortName)
    const states = statesBetween(account, startOf(answer, isOld), toMs)
    const verdicts = states.map((state) => judge(state, token))
    const question = `list ${shortName} ${asked.query}`
    const isExpired = token.expiresAtMs < toMs - behindMs
    const error = status < 400 ? undefined : (JSON.parse(new TextDecoder().decode(body)) as { error: string }).error
    switch (status) {
      case 200:
      case 304: {
        if (verdicts.every(({ isRefused }) => isRefused))
          report('an ended token lists no more', describeStates(account))
        if (token.expiresAtMs < fromMs - behindMs - aheadMs) report('an expired token lists no more')
        if (asked.shortName !== shortName) report('a partner lists only as itself')
        if (isOld) checkEnded(answer, account, (state) => judge(state, token).isRefused, what)
        else isolate.answered.set(question, toMs)
        const etag = headers.get('ETag') ?? ''
        if (status === 200 && computeEtag(body) !== etag) report('a list has its own ETag')
        checkVersion(
          answer,
          states.map(({ country }) => country),
          asked.filter,
          etag,
          isOld,
          report,
        )
        return
      }
      case 401:
        if (error === 'expired_token' ? token.expiresAtMs > toMs + minuteMs : isNeedless())
          report('no needless 401', describeStates(account))
        return
      case 403:
        if (asked.shortName === shortName) report('no needless 403')
        return
      case 503: {
        const isCrowded = isolate.isTiny
        const isCertain = verdicts.every(({ isAccepted }) => isAccepted) && !isExpired
        if ((!isOld && !isCrowded) || (isCertain && hasCopy(answer, question, account))) report('no needless 503')
        return
      }
      default:
        report('no other status')
    }

    function isNeedless(): boolean {
      const kid = (JSON.parse(Buffer.from(token.text.split('.')[0] ?? '', 'base64url').toString()) as { kid: string })
        .kid
      const hasKey = Object.keys(isolate.secrets).some((name) => parseKeyName(name) === kid)
      // A key that was dropped, or that signs at once because another one leaked.
      const isMoving =
        !Object.keys(service.state.secrets).some((name) => parseKeyName(name) === kid) ||
        service.state.deployedAtMs > fromMs - minuteMs
      return verdicts.every(({ isAccepted }) => isAccepted) && (hasKey || !isMoving)
    }
  }

  function checkVersion(
    answer: Answer,
    countries: string[],
    filter: PlanFilter,
    etag: string,
    isOld: boolean,
    report: (rule: string, facts?: string) => void,
  ): void {
    const { fromMs, toMs, seenVersion } = answer
    const startMs = startOf(answer, isOld)
    let newest = -1
    let isKnown = false
    for (const country of new Set(countries)) {
      const etags = record.listEtags(country, filter)
      const last = etags.lastIndexOf(etag)
      isKnown ||= last !== -1
      for (let index = last; index >= 0; index--) {
        const [begin, end] = record.spanOf(index)
        if (etags[index] === etag && begin <= toMs && end > startMs) {
          newest = Math.max(newest, index)
          break
        }
      }
    }
    const seen = record.versions[seenVersion]
    const facts = `ETag ${etag}, known: ${isKnown}, version ${newest} of ${record.versions.length - 1}, seen ${seenVersion} (since ${formatMoment(seen?.fromMs ?? 0)})`
    if (newest === -1) return report('a list is what the catalog was', facts)
    const settlesAtMs = d1.restoredAtMs() + freshMs + weather.maxLagSince(d1.restoredAtMs() - 5 * minuteMs)
    if (!isOld && newest < seenVersion && fromMs > settlesAtMs)
      report('no list is older than one that the isolate has seen', facts)
  }

  function describeStates({ states }: Account): string {
    return states
      .slice(-4)
      .map(({ kind, fromMs }) => `${kind} at ${formatMoment(fromMs)}`)
      .join(', ')
  }

  /** Memory of isolates, and what waits for the schedule. */
  function checkTown(): void {
    for (const { name, maps, openRequests, isTiny } of service.state.isolates) {
      const values = maps.flatMap((map) => [...map.values()])
      const bytes = values.reduce<number>(
        (sum, value) => sum + (Reflect.get(Object(value), 'body')?.byteLength ?? 0),
        0,
      )
      if (bytes > (isTiny ? 300_000 : 24 * 1024 * 1024))
        journal.report('memory is bounded', `${name} holds ${bytes} bytes of lists`, name)
      const waiting = values.filter((value) => value instanceof Promise).length
      if (openRequests === 0 && waiting > 3)
        journal.report('memory is bounded', `${name} is idle, and waits for ${waiting} things`, name)
    }
    const nowMs = clock.nowMs()
    if (service.state.scheduleTroubleAtMs > nowMs - 12 * minuteMs) return
    for (const [id, text, due] of record.listOverdue(d1.nowMs() - 12 * minuteMs)) {
      journal.report(
        'what is due is published',
        `publication ${id} of ${text} is due since ${formatMoment(due * secondMs)}`,
        'catalog',
      )
    }
  }

  async function watchTown(): Promise<void> {
    for (;;) {
      await clock.sleep(minuteMs)
      checkTown()
    }
  }

  return { checkSignIn, checkList, start: () => void watchTown(), locations }
}
