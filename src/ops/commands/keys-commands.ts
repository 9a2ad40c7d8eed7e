// keys rotate, list, drop: the keys that sign access tokens. Local ones are in .dev.vars. Cloudflare gives no secret
// back, so that a deployed key can't be moved to another secret later: it lies in two from the start. JWT_KEYS holds the
// one that signs, JWT_KEYS_<kid> each one that verifies, and their names tell what there is.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { generateJwk, readKidTimeMs, type OctJwk } from '../../crypto/signing-keys.ts'
import { abbreviate } from '../../catalog/plan-schema.ts'
import { CloudflareError, openAccount } from '../store/cloudflare-api.ts'
import { confirm } from '../terminal/confirm.ts'
import { devVarsFile, readKeys, writeKeys } from '../core/dev-vars.ts'
import type { Io } from '../terminal/io.ts'
import { toIsoTime } from './partner-commands.ts'
import { createProgress } from '../terminal/progress.ts'
import { addStatelessCommand, describeCommand, type Target } from '../store/target.ts'
import { formatTable } from '../terminal/table.ts'
import { UserError } from '../core/user-error.ts'
import { finishWrangler, startWrangler } from '../store/wrangler.ts'

const verifyPrefix = 'JWT_KEYS_'
/** A key that every isolate gets to know before it signs. */
const nextPrefix = 'JWT_KEYS_NEXT_'

type Use = 'signs' | 'verifies' | 'waits'

interface Key {
  kid: string
  use: Use
}

interface KeyOptions extends Target {
  json?: boolean
  yes?: boolean
}

export function addKeyCommands(program: Command, io: Io): void {
  const keys = program.command('keys').description('the keys that sign access tokens')
  const add = (usage: string, description: string, example: string) =>
    addStatelessCommand(keys, usage, description, example).option('--json', 'print an array of the keys')

  add('rotate', 'let a new key sign; the ones before still verify, so that live tokens stay valid', 'rotate')
    .option('--wait <seconds>', 'with --remote: how long a new key spreads before it signs; 60 unless given')
    .option('--yes', 'do not ask before keys that this command did not make are replaced with --remote')
    .action(async (options: KeyOptions & { wait?: string }) => {
      const waitSeconds = parseWait(options)
      if (options.remote) await rotateRemote(io, options, waitSeconds)
      else await rotateLocal(devVarsFile)
      show(io, await listKeys(options), options)
      noteRestart(io, options)
    })

  add('list', 'list the keys, the one that signs first, and when they were made; never a key itself', 'list').action(
    async (options: KeyOptions) => {
      show(io, await listKeys(options), options)
    },
  )

  add('drop <kid>', 'retire a key that no longer signs: tokens that it signed are refused from then on', 'drop KID')
    .option('--yes', 'do not ask before dropping with --remote')
    .action(async (kid: string, options: KeyOptions) => {
      const known = (await listKeys(options)).find((key) => key.kid === kid)
      const list = describeCommand(options, 'keys', 'list')
      if (known === undefined) throw new UserError(`There is no key ${abbreviate(kid)}. See: ${list}`)
      if (known.use === 'signs') {
        throw new UserError(`The key ${kid} signs. Rotate first: ${describeCommand(options, 'keys', 'rotate')}`)
      }
      const effect = known.use === 'waits' ? 'It has not signed a token yet.' : 'Tokens that it signed will be refused.'
      await confirm(io, options, `The key ${kid} will be deleted. ${effect}`)
      if (options.remote) {
        await putSecrets(options, { [`${known.use === 'waits' ? nextPrefix : verifyPrefix}${kid}`]: null })
      } else await dropLocal(devVarsFile, kid)
      show(io, await listKeys(options), options)
      noteRestart(io, options)
    })
}

export async function rotateLocal(file: string): Promise<void> {
  await writeKeys(file, [generateJwk(), ...(await readKeys(file))])
}

export async function dropLocal(file: string, kid: string): Promise<void> {
  const keys = await readKeys(file)
  await writeKeys(
    file,
    keys.filter((key) => key.kid !== kid),
  )
}

/**
 * Two steps, each one change of the Worker: the new key verifies everywhere first, then it signs. Interrupted in
 * between, nothing is lost: the key before signs on, and the next rotation takes the waiting one away. When two rotate
 * at once, the later takes over.
 */
async function rotateRemote(io: Io, options: KeyOptions, waitSeconds: number): Promise<void> {
  const before = await listRemoteKids(options)
  const [latest] = before.ours
  const key = await generateLaterJwk(latest)
  if (before.hasSet) {
    if (latest === undefined) {
      const what = 'JWT_KEYS was not set by this command and can’t be read back: tokens signed so far will be refused.'
      await confirm(io, options, what)
    }
    await putSecrets(options, { [`${nextPrefix}${key.kid}`]: formatKeySet(key) })
    await waitVisibly(io, `${key.kid} verifies, and signs in ${waitSeconds} s`, waitSeconds)
    const now = await listRemoteKids(options)
    if (!now.waiting.includes(key.kid) || now.ours[0] !== latest) {
      throw new UserError(`Somebody else rotated meanwhile. See: ${describeCommand(options, 'keys', 'list')}`)
    }
    before.waiting.push(key.kid)
  }
  await putSecrets(options, {
    ...Object.fromEntries(before.waiting.map((kid) => [`${nextPrefix}${kid}`, null])),
    [`${verifyPrefix}${key.kid}`]: formatKeySet(key),
    JWT_KEYS: formatKeySet(key),
  })
}

/** Which key signs is told by the times in their IDs, which have seconds. */
async function generateLaterJwk(latest: string | undefined): Promise<OctJwk> {
  const latestMs = latest === undefined ? 0 : (readKidTimeMs(latest) ?? 0)
  if (latestMs > Date.now()) {
    throw new UserError(`The clock of this machine is behind that of the last rotation, ${latest}. Set it right.`)
  }
  if (Date.now() - latestMs < 1000) await sleep(1000)
  return generateJwk()
}

async function waitVisibly(io: Io, step: string, seconds: number): Promise<void> {
  const progress = createProgress(io)
  for (let passed = 0; passed < seconds; passed++) {
    progress.update(step, passed, seconds)
    await sleep(1000)
  }
  progress.end()
}

function formatKeySet(key: OctJwk): string {
  return JSON.stringify({ keys: [key] })
}

/** The signing one first. */
async function listKeys(target: Target): Promise<Key[]> {
  if (!target.remote) {
    const keys = await readKeys(devVarsFile)
    return keys.map(({ kid }, index) => ({ kid, use: index === 0 ? 'signs' : 'verifies' }))
  }
  const { ours, others, waiting } = await listRemoteKids(target)
  return [
    ...ours.map((kid, index): Key => ({ kid, use: index === 0 ? 'signs' : 'verifies' })),
    ...others.map((kid): Key => ({ kid, use: 'verifies' })),
    ...waiting.map((kid): Key => ({ kid, use: 'waits' })),
  ]
}

/** From the names of the Worker's secrets; none while there is no Worker. */
async function listRemoteKids(target: Target) {
  const names = (await listSecretNames(target)).toSorted().toReversed()
  const kidsAfter = (prefix: string) =>
    names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  const verifying = kidsAfter(verifyPrefix).filter((kid) => !kid.startsWith('NEXT_'))
  return {
    hasSet: names.includes('JWT_KEYS'),
    /** The newest first. */
    ours: verifying.filter((kid) => readKidTimeMs(kid) !== undefined),
    /** Sets that somebody else put beside. */
    others: verifying.filter((kid) => readKidTimeMs(kid) === undefined),
    waiting: kidsAfter(nextPrefix),
  }
}

function show(io: Io, keys: readonly Key[], { json }: KeyOptions): void {
  const rows = keys.map(({ kid, use }) => {
    const timeMs = readKidTimeMs(kid)
    return { kid, use, createdAt: timeMs === undefined ? null : toIsoTime(timeMs / 1000) }
  })
  const table = rows.map(({ kid, use, createdAt }) => ({ KID: kid, USE: use, AGE: formatAge(createdAt) }))
  io.stdout.write(json ? `${JSON.stringify(rows)}\n` : formatTable(table))
  if (!json && rows.length === 0) io.stderr.write('There is no key that this command made.\n')
}

/** Wrangler reads the file when it starts. */
function noteRestart(io: Io, { remote, json }: KeyOptions): void {
  if (!remote && !json) io.stderr.write('A running npm run dev takes this up when it is started again.\n')
}

function formatAge(createdAt: string | null): string {
  if (createdAt === null) return 'unknown'
  const minutes = Math.max(0, Math.floor((Date.now() - Date.parse(createdAt)) / 60_000))
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`
}

function parseWait({ remote, wait }: KeyOptions & { wait?: string }): number {
  if (!remote && wait !== undefined) throw new UserError('--wait is for deployed keys: add --remote.')
  if (wait === undefined) return 60
  if (/^[0-9]{1,4}$/.test(wait)) return Number(wait)
  throw new UserError(`--wait has to be a number of seconds, such as 60; it is ${abbreviate(wait)}.`)
}

/** None while there is no Worker. */
async function listSecretNames(target: Target): Promise<string[]> {
  const { wrangler, call } = await openAccount(target)
  try {
    const { result } = await call('GET', `/workers/scripts/${wrangler.name}/secrets`)
    const secrets: unknown[] = Array.isArray(result) ? result : []
    return secrets.map((secret) => String(Reflect.get(Object(secret), 'name')))
  } catch (error) {
    if (!(error instanceof CloudflareError)) throw error
    if (error.codes.some((code) => workerNotFoundCodes.has(code))) return []
    throw new UserError(error.message)
  }
}

/** As wrangler has them. */
const workerNotFoundCodes = new Set<unknown>([10007, 10090])

/** In one change of the Worker, null deleting one. They go through standard input: arguments show in process lists. */
async function putSecrets(target: Target, secrets: Record<string, string | null>): Promise<void> {
  const child = startWrangler(['secret', 'bulk', '--env', target.env ?? ''], ['pipe', 'pipe', 'pipe'])
  const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
  if (exitCode !== 0) throw new UserError(`The secrets of the Worker could not be changed: ${describeOutput(output)}`)
}

/** What Cloudflare said, out of all that wrangler says besides. */
function describeOutput(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const reason = lines.find((line) => /\[code: \d+\]$/.test(line)) ?? lines.find((line) => line.includes('ERROR'))
  return `${reason ?? 'wrangler gave no reason'}. Check that CLOUDFLARE_API_TOKEN may edit Workers Scripts of this account.`
}
