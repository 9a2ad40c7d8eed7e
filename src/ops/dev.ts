// npm run dev: from nothing but the install to a served API with a demo catalog and a demo partner. Flags go on to
// `wrangler dev`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { generateJwk } from '../auth/signing-keys.ts'
import { ConfigError, readConfig } from '../config.ts'
import { selectPlanKeys } from '../db/catalog.ts'
import { openDatabase } from '../db/database.ts'
import { selectPartners } from '../db/partners.ts'
import { importCatalog, readCatalogFile } from './catalog.ts'
import { withLocalStore, type Store } from './local-store.ts'
import { createPartner } from './partner.ts'
import { UserError } from './user-error.ts'

const wrangler = fileURLToPath(import.meta.resolve('wrangler'))
const demoCatalog = resolve(import.meta.dirname, '../catalog/demo.json')
const demoPartner = { shortName: 'demo', name: 'Demo Wallet', country: 'KE' }

/** Nothing that local work needs is in the network. (Taken before the local store quietens wrangler in this process.) */
const env = { CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false', ...process.env }

try {
  process.exitCode = await startDevServer(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof UserError) && !(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 2
}

/** @returns the exit code of `wrangler dev`. */
async function startDevServer(args: string[]): Promise<number> {
  const { persistTo, vars } = readFlags(args)
  const stateFlags = persistTo === undefined ? [] : ['--persist-to', persistTo]
  await ensureSigningKey()
  await migrate(stateFlags)
  const credentials = await withLocalStore({ ...(persistTo && { persistTo }) }, async (store) => {
    await readConfig({ ...store.config, ...vars })
    return await seedDemo(store)
  })

  const server = spawn(process.execPath, ['--no-warnings', wrangler, 'dev', ...args], {
    env,
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => server.kill(signal))
  // A terminal sends Ctrl-C to wrangler as well, which ends by itself.
  process.on('SIGINT', () => process.stdin.isTTY || server.kill('SIGINT'))
  let isAnnounced = false
  server.on('message', (message) => {
    const { event, port }: { event?: string; port?: number } = JSON.parse(typeof message === 'string' ? message : '{}')
    if (event !== 'DEV_SERVER_READY') return
    isAnnounced = true
    process.stdout.write(describeStart(credentials, stateFlags, `http://localhost:${port}`))
  })
  const [code]: (number | null)[] = await once(server, 'exit')
  // The secret can't be shown again, so that it must not get lost with a server that didn't start.
  if (!isAnnounced && credentials) process.stdout.write(describeStart(credentials, stateFlags, 'http://localhost:8787'))
  return code ?? 0
}

function readFlags(args: string[]) {
  const options = { 'persist-to': { type: 'string' }, var: { type: 'string', multiple: true } } as const
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true })
  const persistTo = values['persist-to']
  const vars = (values.var ?? []).map((pair) => String(pair).split(/:(.*)/s, 2))
  return { persistTo: typeof persistTo === 'string' ? persistTo : undefined, vars: Object.fromEntries(vars) }
}

async function ensureSigningKey(): Promise<void> {
  const file = '.dev.vars'
  const text = await readFile(file, 'utf8').catch(() => '')
  if (/^\s*(export\s+)?JWT_KEYS\s*=/m.test(text)) return
  const line = `JWT_KEYS='${JSON.stringify({ keys: [generateJwk()] })}'\n`
  await appendFile(file, text === '' || text.endsWith('\n') ? line : `\n${line}`, { mode: 0o600 })
  process.stdout.write('Wrote a new signing key to .dev.vars.\n')
}

async function migrate(stateFlags: string[]): Promise<void> {
  const args = ['--no-warnings', wrangler, 'd1', 'migrations', 'apply', 'DB', '--local', ...stateFlags]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const [code]: (number | null)[] = await once(child, 'close')
  if (code !== 0) throw new UserError(output.trim(), 'The local database could not be migrated.')
}

interface Credentials {
  clientId: string
  clientSecret: string
}

/** Fills what is empty. Returns credentials only where it made a partner: those of an old one can't be shown again. */
async function seedDemo(store: Store): Promise<Credentials | undefined> {
  const db = openDatabase(store.d1)
  const plans = await selectPlanKeys(db)
  if (plans.length === 0) {
    const { added } = await importCatalog(store, await readCatalogFile(demoCatalog))
    process.stdout.write(`Loaded the demo catalog: ${added} plans.\n`)
  }
  const partners = await selectPartners(db)
  return partners.length === 0 ? await createPartner(store, demoPartner) : undefined
}

function describeStart(credentials: Credentials | undefined, stateFlags: string[], url: string): string {
  const api = `${url}/api/v3/partners`
  if (credentials === undefined) {
    const create = ['npm run -s ops -- partner create --short-name demo-2 --name "Demo 2" --country KE', ...stateFlags]
    return `
The API is served at ${api}. Plans and partners are as you left them.
A client secret can't be shown again. For new credentials, in another terminal:
  ${create.join(' ')}

`
  }
  const { clientId, clientSecret } = credentials
  const { shortName, country } = demoPartner
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
