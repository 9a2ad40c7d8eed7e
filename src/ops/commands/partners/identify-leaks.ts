// partner identify: describes each secret in a text.
import { formatIsoTime, formatTimes } from '../../shared/iso-time.ts'
import { listKeys, type Key } from '../../core/keys/key-ring.ts'
import {
  findLeaks,
  findSecretOwner,
  findTokenOwner,
  readOwners,
  type Leak,
  type Owners,
} from '../../core/partners/secret-owner.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import type { Output, Run } from '../frame/run.ts'

const form = 'a secret is pcs_ and 36 letters and digits, with the right checksum'

/** A client secret is hashed once for each live secret, which takes time. */
const maxLeaks = 10

/** What a line may hold that can't be compared with the live secrets and keys, by its kind. */
const uncertain: Record<string, string> = {
  'cut-secret': `a part of a client secret, or a mistyped one: copy all of it; ${form}.`,
  'possible-key': `a signing key, which this command can't compare with the live keys: see "A signing key leaked" in src/worker/ONCALL.md.`,
}

/** The live secrets and keys of an environment, with which leaks are compared. */
interface Known {
  target: Target
  nowSeconds: number
  /** Undefined when the database could not be read. */
  owners: Owners | undefined
  /** Undefined when the secrets of the Worker could not be read. */
  keys: readonly Key[] | undefined
}

/**
 * Describes each secret, token and key in a text.
 * @throws UserError when the text has none. When something could not be read, it prints the rest before it throws.
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
  /** Reads what leaks of these kinds are compared with. A failure is kept in `problems`. */
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
    readIf(['secret', 'token'], () => readOwnersQuickly(run)),
    readIf(['signing-key', 'key-name'], async () =>
      listKeys((await (await run.openSecrets(target)).list()).live, nowSeconds),
    ),
  ])
  const rows = await Promise.all(leaks.map((leak) => describeLeak(leak, { target, nowSeconds, owners, keys })))
  const rest = found.length - leaks.length
  if (rest > 0) run.warn(`The text has ${rest} more. Delete from it what is listed below, and run this again.`)
  const hasToken = leaks.some(({ kind }) => kind === 'token')
  const output = {
    data: rows,
    text: rows.map(formatFields).join('\n'),
    note: hasToken ? 'This is what the token says: its signature was not checked.' : undefined,
  }
  if (problems.length > 0) {
    run.print(output)
    throw new UserError([...problems, 'Not everything could be read: run this again later.'])
  }
  const where = target.remote ? `[env.${target.env}]` : 'the local state'
  const none = `Nothing matches a live secret, token or key of ${where}: what leaked has ended, or belongs to another environment.`
  return { ...output, findings: rows.some((row) => 'ifItLeaked' in row) ? undefined : none }
}

/** `Lines 1, 2 and 3 more` */
function nameLines(numbers: number[]): string {
  const rest = numbers.length > maxLeaks ? ` and ${numbers.length - maxLeaks} more` : ''
  return `${numbers.length === 1 ? 'Line' : 'Lines'} ${numbers.slice(0, maxLeaks).join(', ')}${rest}`
}

/** @returns the fields that are printed. Without a match, they lack `ifItLeaked`. */
async function describeLeak(leak: Leak, known: Known): Promise<object> {
  const { line, kind } = leak
  if (kind === 'signing-key' || kind === 'key-name') return { line, kind, ...describeKey(leak, known) }
  const { owners, target, nowSeconds } = known
  const isToken = kind === 'token'
  const owned =
    owners && (isToken ? findTokenOwner(leak.claims, owners, nowSeconds) : await findSecretOwner(leak.text, owners))
  // While D1 fails, a token still names its partner.
  const found = owned ?? (isToken && owners === undefined ? leak.claims : undefined)
  const state = owned?.state ?? (owners === undefined ? notKnown : noMatch)
  if (found === undefined) return { line, kind, state }
  const { createdAt, expiresAt } = found
  const { shortName, clientId } = 'partner' in found ? found.partner : found
  const flags = isToken ? ['--tokens-only'] : []
  const ifItLeaked = shortName && describeCommand(target, 'partner', 'lockdown', shortName, ...flags)
  return {
    line,
    kind,
    state,
    ...formatTimes({ createdAt, expiresAt }),
    ...(shortName !== undefined && { shortName, clientId, ifItLeaked }),
  }
}

const notKnown = 'not known'
const noMatch = 'no live one matches'

/** Says whether a key is in use, and which command drops it. */
function describeKey({ kind, text: kid }: Pick<Leak, 'kind' | 'text'>, { keys, target }: Known): object {
  const use = keys?.find((one) => one.kid === kid)?.use
  const uses = { signs: 'signs', verifies: 'verifies', next: `signs from ${formatIsoTime(Number(kid))}` }
  const state = keys === undefined ? notKnown : use === undefined ? noMatch : `in use: it ${uses[use]}`
  const isInUse = use !== undefined || keys === undefined
  const only = kind === 'key-name' ? '; here is only its name, which is no secret' : ''
  const ifItLeaked = describeCommand(target, 'keys', 'drop', kid, '--leaked')
  return { state: `${state}${only}`, kid, ...(isInUse && { ifItLeaked }) }
}

/** How long to wait for the database. Cloudflare's API waits for minutes for a database that hangs. */
const patienceMs = 20_000

/** @throws UserError when the database can't be read, or does not answer in time: after a leak, somebody waits. */
async function readOwnersQuickly({ withStore, target }: Run): Promise<Owners> {
  const { promise: deadline, reject } = Promise.withResolvers<never>()
  const problem = `the database does not answer within ${patienceMs / 1000} s.`
  const timer = setTimeout(() => reject(new UserError(problem)), patienceMs)
  try {
    return await Promise.race([withStore(target, readOwners), deadline])
  } finally {
    clearTimeout(timer)
  }
}
