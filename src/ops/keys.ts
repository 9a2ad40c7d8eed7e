// keys rotate, list, drop: the keys that sign access tokens. Local ones are in .dev.vars. Cloudflare gives no secret
// back, so that a deployed key can't be moved to another secret later: it lies in two from the start. JWT_KEYS holds the
// one that signs, JWT_KEYS_<kid> each one that verifies, and their names tell what there is.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { generateJwk, readKidTimeMs, type OctJwk } from '../auth/signing-keys.ts'
import { abbreviate } from '../catalog/plan.ts'
import { confirm } from './confirm.ts'
import { devVarsFile, readKeys, writeKeys } from './dev-vars.ts'
import type { Io } from './io.ts'
import { toIsoTime } from './partner.ts'
import { addCommand, describeCommand, type Target } from './target.ts'
import { formatTable } from './table.ts'
import { UserError } from './user-error.ts'
import { finishWrangler, readWranglerConfig, startWrangler } from './wrangler.ts'

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
    addCommand(keys, usage, description, example).option('--json', 'print an array of the keys')

  add('rotate', 'let a new key sign; the ones before still verify, so that live tokens stay valid', 'rotate')
    .option('--wait <seconds>', 'with --remote: how long a new key spreads before it signs', '60')
    .option('--yes', 'do not ask before keys that this command did not make are replaced with --remote')
    .action(async (options: KeyOptions & { wait: string }) => {
      await readWranglerConfig(options.env)
      if (options.remote) await rotateRemote(io, options, parseWait(options.wait))
      else await rotateLocal(devVarsFile(options.env))
      show(io, await listKeys(options), options)
      noteRestart(io, options)
    })

  add('list', 'list the keys, the one that signs first, and when they were made; never a key itself', 'list').action(
    async (options: KeyOptions) => {
      await readWranglerConfig(options.env)
      show(io, await listKeys(options), options)
    },
  )

  add('drop <kid>', 'retire a key that no longer signs: tokens that it signed are refused from then on', 'drop KID')
    .option('--yes', 'do not ask before dropping with --remote')
    .action(async (kid: string, options: KeyOptions) => {
      await readWranglerConfig(options.env)
      const known = (await listKeys(options)).find((key) => key.kid === kid)
      const list = describeCommand(options, 'keys', 'list')
      if (known === undefined) throw new UserError(`There is no key ${abbreviate(kid)}. See: ${list}`)
      if (known.use === 'signs') {
        throw new UserError(`The key ${kid} signs. Rotate first: ${describeCommand(options, 'keys', 'rotate')}`)
      }
      await confirm(io, options, `Tokens that ${kid} signed will be refused.`)
      if (options.remote) {
        await putSecrets(options, { [`${known.use === 'waits' ? nextPrefix : verifyPrefix}${kid}`]: null })
      } else await dropLocal(devVarsFile(options.env), kid)
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
 * between, nothing is lost: the key before signs on, and the next rotation takes the waiting one away.
 */
async function rotateRemote(io: Io, options: KeyOptions, waitSeconds: number): Promise<void> {
  const { hasSet, verifying, waiting } = await listRemoteKids(options)
  const key = generateJwk()
  const [latest] = verifying
  // Which key signs is told by the times in their names.
  if (latest !== undefined && latest >= key.kid) {
    throw new UserError(`The clock of this machine is behind that of the last rotation, ${latest}. Set it right.`)
  }
  if (hasSet) {
    if (latest === undefined) {
      const what = 'JWT_KEYS was not set by this command and can’t be read back: tokens signed so far will be refused.'
      await confirm(io, options, what)
    }
    await putSecrets(options, { [`${nextPrefix}${key.kid}`]: formatKeySet(key) })
    waiting.push(key.kid)
    io.stderr.write(`${key.kid} verifies; it signs in ${waitSeconds} s, when every location knows it.\n`)
    await sleep(waitSeconds * 1000)
  }
  await putSecrets(options, {
    ...Object.fromEntries(waiting.map((kid) => [`${nextPrefix}${kid}`, null])),
    [`${verifyPrefix}${key.kid}`]: formatKeySet(key),
    JWT_KEYS: formatKeySet(key),
  })
}

function formatKeySet(key: OctJwk): string {
  return JSON.stringify({ keys: [key] })
}

/** The signing one first. */
async function listKeys(target: Target): Promise<Key[]> {
  if (!target.remote) {
    const keys = await readKeys(devVarsFile(target.env))
    return keys.map(({ kid }, index) => ({ kid, use: index === 0 ? 'signs' : 'verifies' }))
  }
  const { verifying, waiting } = await listRemoteKids(target)
  return [
    ...verifying.map((kid, index): Key => ({ kid, use: index === 0 ? 'signs' : 'verifies' })),
    ...waiting.map((kid): Key => ({ kid, use: 'waits' })),
  ]
}

/** From the names of the Worker's secrets, the newest first; none while there is no Worker. */
async function listRemoteKids(target: Target) {
  const names = (await listSecretNames(target)).toSorted().toReversed()
  const kidsAfter = (prefix: string) =>
    names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  const waiting = kidsAfter(nextPrefix)
  const verifying = kidsAfter(verifyPrefix).filter((kid) => !kid.startsWith('NEXT_'))
  return { hasSet: names.includes('JWT_KEYS'), verifying, waiting }
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

function parseWait(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new UserError(`--wait has to be a number of seconds, such as 60; it is ${abbreviate(text)}.`)
}

/** None while there is no Worker. */
async function listSecretNames(target: Target): Promise<string[]> {
  const { exitCode, stdout, output } = await finishWrangler(
    startWrangler(['secret', 'list', ...envFlag(target)], ['ignore', 'pipe', 'pipe']),
  )
  if (exitCode === 0) {
    const secrets: { name: string }[] = JSON.parse(stdout)
    return secrets.map(({ name }) => name)
  }
  if (/Worker ".*"( \(env: .*\))? not found/.test(output)) return []
  throw new UserError([output, 'The secrets of the Worker could not be listed.'])
}

/** In one change of the Worker, null deleting one. They go through standard input: arguments show in process lists. */
async function putSecrets(target: Target, secrets: Record<string, string | null>): Promise<void> {
  const child = startWrangler(['secret', 'bulk', ...envFlag(target)], ['pipe', 'pipe', 'pipe'])
  const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
  if (exitCode !== 0) throw new UserError([output, 'The secrets of the Worker could not be changed.'])
}

/** The top level is named by an empty name: without one, wrangler warns. */
function envFlag({ env = '' }: Target): string[] {
  return ['--env', env]
}
