// The command `ops partner identify`: describes each secret, token and signing key in a text.
import { nameSome } from '../../../abbreviate.ts'
import { formatIsoTime, formatTimes } from '../../shared/iso-time.ts'
import { listSigningKeys, type Key } from '../../core/keys/key-ring.ts'
import {
  findLeaks,
  findSecretOwner,
  findTokenOwner,
  readOwners,
  type Leak,
  type OwnedLeak,
  type Owners,
  type TokenClaims,
} from '../../core/partners/secret-owner.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { formatFields } from '../../terminal/table.ts'
import type { Output, Run } from '../frame/run.ts'

const secretForm = 'a secret is pcs_ and 36 letters and digits, with the right checksum'

/** The limit on described leaks. A leaked client secret takes time, because it is hashed once for each live secret. */
const maxLeaks = 10

/** Follows `Line 3 may hold `: describes texts that look like a secret or a key, but can't be compared with the live ones, by their kind. */
const suspectDescriptions: Record<string, string> = {
  'cut-secret': `a part of a client secret, or a mistyped secret: copy the whole secret; ${secretForm}.`,
  'possible-key': `a signing key, which this command can't compare with the live keys: see "A signing key leaked" in src/worker/ONCALL.md.`,
}

/** The live secrets and keys of an environment, with which leaks are compared. */
interface LiveSecrets {
  target: Target
  nowSeconds: number
  /** Undefined when the database was not needed, or could not be read. */
  owners: Owners | undefined
  /** Undefined when the keys were not needed, or could not be read. */
  keys: readonly Key[] | undefined
  /** The messages of the reads that failed. */
  problems: string[]
}

/** Describes the leaks in a text. @throws UserError if no line has or may have a leak. If the database or the keys can't be read, prints what is known, and then throws. */
export async function identifyLeaks(text: string, run: Run): Promise<Output> {
  const { leaks: allLeaks, suspectLines } = findLeaks(text)
  const hints = Object.entries(suspectLines).flatMap(([kind, numbers]) => {
    const lines = `${numbers.length === 1 ? 'Line' : 'Lines'} ${nameSome(numbers.map(String))}`
    return numbers.length === 0 ? [] : `${lines} may hold ${suspectDescriptions[kind]}`
  })
  run.warn(...hints)
  if (allLeaks.length === 0) {
    if (hints.length === 0)
      throw new UserError(`The text has no secret, token or signing key of this service: ${secretForm}.`)
    return { data: [], text: '', reasonToAct: 'The rest of the text has no secret, token or signing key.' }
  }
  const leaks = allLeaks.slice(0, maxLeaks)
  const liveSecrets = await readLiveSecrets(leaks, run)
  const rows = await Promise.all(leaks.map((leak) => makeLeakFields(leak, liveSecrets)))
  const omittedCount = allLeaks.length - leaks.length
  if (omittedCount > 0)
    run.warn(`Leaks not listed: ${omittedCount}. Delete the listed leaks from the text, and run the command again.`)
  const hasToken = leaks.some(({ kind }) => kind === 'token')
  const output = {
    data: rows,
    text: rows.map(formatFields).join('\n'),
    note: hasToken ? 'A token is described by its own claims: its signature was not checked.' : undefined,
  }
  if (liveSecrets.problems.length > 0) {
    run.print(output)
    throw new UserError([...liveSecrets.problems, 'Not everything could be read: fix that, or wait, and try again.'])
  }
  const where = run.target.remote ? `[env.${run.target.env}]` : 'the local state'
  const noMatchMessage = `No listed leak matches a live secret, token or key of ${where}: each has ended, or belongs to another environment. To compare with another one, add --remote --env NAME.`
  return { ...output, reasonToAct: rows.some((row) => 'ifItLeaked' in row) ? undefined : noMatchMessage }
}

/** Reads the live secrets and keys with which these leaks are compared. A UserError becomes one of `problems`. @throws ConfigError as `readOwners`. */
async function readLiveSecrets(leaks: readonly Leak[], run: Run): Promise<LiveSecrets> {
  const { target, clock } = run
  const nowSeconds = clock.nowMs() / 1000
  const problems: string[] = []
  /** Runs `read` if some leak has one of `kinds`. Adds the message of a UserError to `problems`. */
  const readFor = async <T>(kinds: Leak['kind'][], read: () => Promise<T>): Promise<T | undefined> => {
    if (!leaks.some(({ kind }) => kinds.includes(kind))) return undefined
    return read().catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      problems.push(error.message)
      return undefined
    })
  }
  const [owners, secretNames] = await Promise.all([
    readFor(['secret', 'token'], () => readOwnersQuickly(run)),
    readFor(['signing-key', 'key-name'], async () => (await run.openSecrets(target)).list()),
  ])
  const keys = secretNames && listSigningKeys(secretNames.live, nowSeconds)
  return { target, nowSeconds, owners, keys, problems }
}

/** @returns fields to print. `ifItLeaked`, the command that ends the secret, token or key, is missing when nothing matches, or no partner is known. */
async function makeLeakFields(leak: Leak, liveSecrets: LiveSecrets): Promise<object> {
  const { line, kind } = leak
  const { owners, target, nowSeconds } = liveSecrets
  if (kind === 'signing-key' || kind === 'key-name') return { line, kind, ...makeKeyFields(leak, liveSecrets) }
  if (owners === undefined) {
    // Without the database, the owner of a secret is not known, but a token names its partner.
    const owner = kind === 'token' ? makeOwnerFields(kind, leak.claims, leak.claims, target) : {}
    return { line, kind, state: notKnown, ...owner }
  }
  const ownedLeak =
    kind === 'token' ? findTokenOwner(leak.claims, owners, nowSeconds) : await findSecretOwner(leak.text, owners)
  if (ownedLeak === undefined) return { line, kind, state: noMatch }
  return { line, kind, state: ownedLeak.state, ...makeOwnerFields(kind, ownedLeak, ownedLeak.partner, target) }
}

/** @returns times; if the partner is known, also the partner, and the command that ends the leaked secret or token. */
function makeOwnerFields(
  kind: Leak['kind'],
  { createdAt, expiresAt }: Pick<OwnedLeak, 'createdAt' | 'expiresAt'>,
  { shortName, clientId }: Pick<TokenClaims, 'shortName' | 'clientId'>,
  target: Target,
): object {
  const times = formatTimes({ createdAt, expiresAt })
  // A forged token may name no partner.
  if (shortName === undefined) return times
  const flags = kind === 'token' ? ['--tokens-only'] : []
  const ifItLeaked = describeCommand(target, 'partner', 'lockdown', shortName, ...flags)
  return { ...times, shortName, clientId, ifItLeaked }
}

const notKnown = 'not known'
const noMatch = 'matches no live secret, token or key'

/** @returns the state of the key whose KID is the text of the leak; also the command that drops the key, unless the live keys were read and none has this KID. */
function makeKeyFields({ kind, text: kid }: Pick<Leak, 'kind' | 'text'>, { keys, target }: LiveSecrets): object {
  const use = keys?.find((key) => key.kid === kid)?.use
  const uses = { signs: 'signs', verifies: 'verifies', next: `signs from ${formatIsoTime(Number(kid))}` }
  const foundState = use === undefined ? noMatch : `in use: it ${uses[use]}`
  const state = keys === undefined ? notKnown : foundState
  const mayBeInUse = keys === undefined || use !== undefined
  const onlyName = kind === 'key-name' ? '; the text has only its name, which is no secret' : ''
  const ifItLeaked = describeCommand(target, 'keys', 'drop', kid, '--leaked')
  return { state: `${state}${onlyName}`, kid, ...(mayBeInUse && { ifItLeaked }) }
}

/** The deadline for the database: Cloudflare's API waits for minutes for a database that hangs. */
const deadlineMs = 20_000

/** Reads the partners and their live secrets. @throws UserError when the database can't be read, or does not answer before the deadline. ConfigError as `readOwners`. */
async function readOwnersQuickly({ withStore, target }: Run): Promise<Owners> {
  const { promise: failAtDeadline, reject } = Promise.withResolvers<never>()
  const problem = `The database does not answer within ${deadlineMs / 1000} s.`
  const timer = setTimeout(() => reject(new UserError(problem)), deadlineMs)
  try {
    return await Promise.race([withStore(target, readOwners), failAtDeadline])
  } finally {
    clearTimeout(timer)
  }
}
