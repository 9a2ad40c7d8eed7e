// npm run dev: from nothing but the install to a served API with a demo catalog and a demo partner. Flags go on to
// `wrangler dev`.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateJwk } from '../auth/signing-keys.ts'
import { ConfigError, readConfig, type ConfigSource } from '../config.ts'
import { selectCatalog } from '../db/catalog.ts'
import { openDatabase } from '../db/database.ts'
import { selectPartners } from '../db/partners.ts'
import { importCatalog, readCatalogFile } from './catalog.ts'
import { quote, withLocalStore, type StoreOptions } from './local-store.ts'
import { createPartner, type CreatedPartner } from './partner.ts'
import { enterProject } from './project.ts'
import { UserError } from './user-error.ts'

const wrangler = fileURLToPath(import.meta.resolve('wrangler'))
const demoCatalog = resolve(import.meta.dirname, '../catalog/demo.json')
const demoPartner = { shortName: 'demo', name: 'Demo Wallet', country: 'KE' }

enterProject()
/** Keeps wrangler off the network. (A copy: the local store quietens the wrangler of this process alone.) */
const env = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  ...process.env,
}

/** The wrangler that runs now. Who is told to stop tells it, and ends with it. */
let child: ChildProcess | undefined
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    isStopping = true
    // A terminal has sent Ctrl-C to wrangler as well, which is on its way out then.
    if (signal === 'SIGINT' && process.stdin.isTTY) setTimeout(() => child?.kill('SIGTERM'), 1000).unref()
    else child?.kill(signal)
  })
}

const code = await startDevServer(process.argv.slice(2)).catch((error: unknown) => {
  child?.kill()
  if (isStopping) return 0
  if (!(error instanceof UserError) && !(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  return 2
})
process.stdout.write('', () => process.exit(code))

/** @returns the exit code: wrangler's own, or 0 when we were told to stop. */
async function startDevServer(args: string[]): Promise<number> {
  const { store, stateFlags, vars, isHelp } = readFlags(args)
  if (!isHelp) {
    await ensureSigningKey()
    await migrate(stateFlags)
    await withLocalStore(store, async ({ d1, kv, config }) => {
      await checkConfig({ ...config, ...vars })
      if ((await selectCatalog(openDatabase(d1))).length > 0) return
      const { added } = await importCatalog({ d1, kv, config }, await readCatalogFile(demoCatalog))
      process.stdout.write(`Loaded the demo catalog: ${added} plans.\n`)
    })
  }
  if (isStopping) return 0

  const server = startWrangler(['dev', ...args], ['inherit', 'inherit', 'inherit', 'ipc'])
  const ended = once(server, 'exit')
  const announced = new Promise<void>((resolveAnnounced, reject) => {
    server.on('message', (message) => {
      const { event, port }: { event?: string; port?: number } = JSON.parse(
        typeof message === 'string' ? message : '{}',
      )
      if (event === 'DEV_SERVER_READY') announce(store, stateFlags, port).then(resolveAnnounced, reject)
    })
  })
  // Announcing may fail, too; being announced is no reason to end.
  const [exitCode]: (number | null)[] = await Promise.race([ended, announced.then(() => ended)])
  return isStopping ? 0 : (exitCode ?? 1)
}

function startWrangler(args: string[], stdio: StdioOptions): ChildProcess {
  child = spawn(process.execPath, ['--no-warnings', wrangler, ...args], { env, stdio })
  return child
}

/** Those of wrangler's flags that concern us; it says itself what is wrong with any. */
function readFlags(args: string[]) {
  const string = { type: 'string' } as const
  const options = { 'persist-to': string, persistTo: string, var: { type: 'string', multiple: true } } as const
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true })
  const persistTo = values['persist-to'] ?? values.persistTo
  const pairs = (values.var ?? []).map((pair) => String(pair).split(/:(.*)/s, 2))
  const vars: Record<string, string> = Object.fromEntries(pairs)
  const isHelp = args.some((word) => word === '--help' || word === '-h')
  if (typeof persistTo !== 'string') return { store: {}, stateFlags: [], vars, isHelp }
  return { store: { persistTo }, stateFlags: ['--persist-to', persistTo], vars, isHelp }
}

async function ensureSigningKey(): Promise<void> {
  const file = '.dev.vars'
  const text = await readFile(file, 'utf8').catch(() => '')
  if (/^\s*(export\s+)?JWT_KEYS\s*=/m.test(text)) return
  const line = `JWT_KEYS='${JSON.stringify({ keys: [generateJwk()] })}'\n`
  await appendFile(file, text === '' || text.endsWith('\n') ? line : `\n${line}`, { mode: 0o600 })
  process.stdout.write('Wrote a new signing key to .dev.vars.\n')
}

async function checkConfig(source: ConfigSource): Promise<void> {
  try {
    await readConfig(source)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const mend =
      'Secrets come from .dev.vars (delete the line of JWT_KEYS there for a new key), variables from wrangler.toml or --var.'
    throw new UserError([error.message, mend])
  }
}

async function migrate(stateFlags: string[]): Promise<void> {
  const migration = startWrangler(
    ['d1', 'migrations', 'apply', 'DB', '--local', ...stateFlags],
    ['ignore', 'pipe', 'pipe'],
  )
  let output = ''
  for (const stream of [migration.stdout, migration.stderr]) stream?.on('data', (chunk) => (output += String(chunk)))
  const [exitCode]: (number | null)[] = await once(migration, 'close')
  if (exitCode !== 0) throw new UserError([output.trim(), 'The local database could not be migrated.'])
}

/** Makes the demo partner where there is none, once its credentials can be used, and says how. */
async function announce(store: StoreOptions, stateFlags: string[], port = 8787): Promise<void> {
  const api = `http://localhost:${port}/api/v3/partners`
  const partner = await withLocalStore(store, async (open) => {
    const partners = await selectPartners(openDatabase(open.d1))
    return partners.length === 0 ? await createPartner(open, demoPartner) : undefined
  })
  process.stdout.write(partner ? describeDemo(api, partner) : describeRestart(api, stateFlags))
}

function describeDemo(api: string, { shortName, country, clientId, clientSecret }: CreatedPartner): string {
  const token = `curl -s -X POST -u ${clientId}:${clientSecret} ${api}/auth | sed 's/.*"access_token":"\\([^"]*\\).*/\\1/'`
  return `
The API is served at ${api}, with a demo catalog and a demo partner:
  short name     ${shortName}
  country        ${country}
  client ID      ${clientId}
  client secret  ${clientSecret}   (shown this once: only its hash is stored)

Get a token and list the partner's plans, in another terminal:
  curl -s -H "Authorization: Bearer $(${token})" ${api}/${shortName}/plans

`
}

function describeRestart(api: string, stateFlags: string[]): string {
  const create = [
    'npm run -s ops -- partner create --short-name demo-2 --name "Demo 2" --country KE',
    ...stateFlags.map(quote),
  ]
  return `
The API is served at ${api}. Plans and partners are as you left them.
A client secret can't be shown again. For new credentials, in another terminal:
  ${create.join(' ')}

`
}
