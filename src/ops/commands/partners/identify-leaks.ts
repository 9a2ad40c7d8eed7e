// partner identify: describes each secret in a text.
import { formatIsoTime, formatTimes } from '../../shared/iso-time.ts'
import { listKeys, type Key } from '../../core/keys/key-ring.ts'
import {
  findLeaks,
  findSecretOwner,
  findTokenOwner,
  readOwners,
  type Leak,
  type Owned,
  type Owners,
} from '../../core/partners/secret-owner.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import { readQuickly } from '../frame/read-quickly.ts'
import type { Output, Run } from '../frame/run.ts'

const form = 'a secret is pcs_ and 36 letters and digits, with the right checksum'

/** Each client secret costs a derivation for each live one. */
const maxLeaks = 10

/** What nobody can look up. */
const uncertain: Record<string, string> = {
  'cut-secret': `a part of a client secret, or a mistyped one: copy all of it; ${form}.`,
  'possible-key': `a signing key, which can't be compared: see "A signing key leaked".`,
}

/** The secrets in the environment; undefined where it could not be read. */
interface Known {
  target: Target
  nowSeconds: number
  owners: Owners | undefined
  keys: readonly Key[] | undefined
}

/**
 * @returns an answer for each secret of the text.
 * @throws UserError when there is none, and, after it printed what it knows, when something could not be read.
 */
export async function identifyLeaks(text: string, run: Run): Promise<Output> {
  const { leaks: found, lines } = findLeaks(text)
  const hints = Object.entries(lines).flatMap(([kind, numbers]) =>
    numbers.length === 0 ? [] : `${nameLines(numbers)} may hold ${uncertain[kind]}`,
  )
  run.warn(...hints)
  if (found.length === 0 && hints.length === 0)
    throw new UserError(`This is no secret, token or signing key of this service: ${form}.`)
  if (found.length === 0) return { data: [], text: '', findings: 'The text has no other secret, token or signing key.' }
  const leaks = found.slice(0, maxLeaks)
  const problems: string[] = []
  const readIf = async <T>(kinds: Leak['kind'][], read: () => Promise<T>): Promise<T | undefined> => {
    if (!leaks.some(({ kind }) => kinds.includes(kind))) return undefined
    return read().catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      problems.push(error.message)
      return undefined
    })
  }
  const { target, clock } = run
  const nowSeconds = clock.nowMs() / 1000
  const [owners, keys] = await Promise.all([
    readIf(['secret', 'token'], () => readQuickly(run, readOwners)),
    readIf(['signing-key', 'key-name'], async () =>
      listKeys((await (await run.openSecrets(target)).list()).live, nowSeconds),
    ),
  ])
  const rows = await Promise.all(leaks.map((leak) => describeLeak(leak, { target, nowSeconds, owners, keys })))
  const rest = found.length - leaks.length
  if (rest > 0) run.warn(`There are ${rest} more. Delete the lines below from the text, and run this again.`)
  const hasToken = leaks.some(({ kind }) => kind === 'token')
  const output = {
    data: rows,
    text: rows.map(formatFields).join('\n'),
    note: hasToken ? 'A token says so of itself: its signature was not checked.' : undefined,
  }
  if (problems.length > 0) {
    run.print(output)
    throw new UserError([...problems, 'Not everything could be read: run this again later.'])
  }
  const where = target.remote ? `[env.${target.env}]` : 'the local state'
  const none = `No live secret, token or key of ${where} matches: it has ended, or is of another environment.`
  return { ...output, findings: rows.some((row) => 'ifItLeaked' in row) ? undefined : none }
}

function nameLines(numbers: number[]): string {
  const rest = numbers.length > maxLeaks ? ` and ${numbers.length - maxLeaks} more` : ''
  return `${numbers.length === 1 ? 'Line' : 'Lines'} ${numbers.slice(0, maxLeaks).join(', ')}${rest}`
}

/** @returns the fields of a secret: without `ifItLeaked` when nothing matches. */
async function describeLeak(leak: Leak, known: Known): Promise<object> {
  const { line, kind } = leak
  switch (kind) {
    case 'signing-key':
    case 'key-name':
      return describeKey({ line, kind, kid: leak.text }, known)
    case 'secret': {
      const { owners } = known
      if (owners === undefined) return { line, kind, state: notKnown }
      return describeOwned({ line, kind }, await findSecretOwner(leak.text, owners), known)
    }
    case 'token':
      return describeToken(leak, known)
  }
}

const notKnown = 'not known'
const noMatch = 'no live one matches'

function describeKey(
  { line, kind, kid }: { line: number; kind: 'signing-key' | 'key-name'; kid: string },
  { keys, target }: Known,
): object {
  const use = keys?.find((one) => one.kid === kid)?.use
  const uses = { signs: 'signs', verifies: 'verifies', next: `signs from ${formatIsoTime(Number(kid))}` }
  const state = keys === undefined ? notKnown : use === undefined ? noMatch : `in use: it ${uses[use]}`
  const isInUse = use !== undefined || keys === undefined
  const ifItLeaked = isInUse ? { ifItLeaked: describeCommand(target, 'keys', 'drop', kid, '--leaked') } : {}
  const only = kind === 'key-name' ? '; here is only its name, which is no secret' : ''
  return { line, kind, state: `${state}${only}`, kid, ...ifItLeaked }
}

/** While D1 fails, a token still names its partner. */
function describeToken({ line, kind, claims }: Extract<Leak, { kind: 'token' }>, known: Known): object {
  const { owners, nowSeconds, target } = known
  if (owners !== undefined) return describeOwned({ line, kind }, findTokenOwner(claims, owners, nowSeconds), known)
  const { shortName, createdAt, expiresAt, clientId } = claims
  const times = formatTimes({ createdAt, expiresAt })
  const named =
    shortName === undefined ? {} : { shortName, clientId, ifItLeaked: describeLockdown(target, shortName, kind) }
  return { line, kind, state: notKnown, ...times, ...named }
}

function describeOwned(
  { line, kind }: { line: number; kind: 'secret' | 'token' },
  owned: Owned | undefined,
  { target }: Known,
): object {
  if (owned === undefined) return { line, kind, state: noMatch }
  const { partner, state, createdAt, expiresAt } = owned
  const { shortName, name, clientId } = partner
  const ifItLeaked = describeLockdown(target, shortName, kind)
  const times = formatTimes({ createdAt, expiresAt })
  return { line, kind, state, ...times, shortName, name, clientId, ifItLeaked }
}

function describeLockdown(target: Target, shortName: string, kind: 'secret' | 'token'): string {
  return describeCommand(target, 'partner', 'lockdown', shortName, ...(kind === 'token' ? ['--tokens-only'] : []))
}
