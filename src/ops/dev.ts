// npm run dev: prepares a local state with a demo catalog, starts `wrangler dev` on it, and creates a demo partner.
// --empty leaves out the demo data. Other flags are passed on to `wrangler dev`.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ConfigError, parseConfig, type ConfigSource } from '../api/config.ts'
import { selectCatalogOrigin } from '../db/catalog-queries.ts'
import { selectMigrations } from '../db/health-queries.ts'
import { selectPartners } from '../db/partner-queries.ts'
import { prepareImport, readCatalog } from './core/catalog-import.ts'
import { systemClock } from './core/clock.ts'
import { rotateLocalKey } from './core/local-keys.ts'
import { createPartner, type Credentials } from './core/partner-accounts.ts'
import { publishChange } from './core/publications.ts'
import { startDevSchedule } from './dev-schedule.ts'
import { createProgress } from './terminal/progress.ts'
import { enterProject } from './project.ts'
import { devVarsFile, openDevVars } from './store/dev-vars.ts'
import { withStore } from './store/open-store.ts'
import { listMigrationFiles } from './store/remote-migrations.ts'
import { describeCommand, type Target } from './shared/target.ts'
import { UserError } from './shared/user-error.ts'
import { finishWrangler, startWrangler } from './store/wrangler.ts'

const demoCatalog = resolve(import.meta.dirname, '../catalog/demo.json')
const attribution = { actor: 'npm run dev', command: 'npm run dev', note: 'The demo catalog.' }
const emptyFlag = '--empty'
const demoPartner = { shortName: 'demo', name: 'Demo Wallet', country: 'KE' }

enterProject()

const code = await startDevServer(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof UserError) && !(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  return 2
})
// A store that failed to open can leave handles behind that would keep the process alive.
process.stdout.write('', () => process.exit(code))

/** @returns the exit code. */
async function startDevServer(args: string[]): Promise<number> {
  const { target, vars, isHelp, isEmpty } = readFlags(args)
  if (!isHelp) {
    await ensureSigningKey()
    await migrate(target)
    await withStore(target, async (store) => {
      await checkConfig({ ...store.config, ...vars })
      // Never again after the first publication: a catalog may be empty on purpose.
      if (isEmpty || (await selectCatalogOrigin(store.read)).revision > 0) return
      const progress = createProgress(process)
      const file = readCatalog({ kind: 'json', text: await readFile(demoCatalog, 'utf8') }, progress.update)
      const prepared = await prepareImport(store, file)
      await publishChange(store, prepared, { attribution, onProgress: progress.update })
      progress.end()
      process.stdout.write(`Loaded the demo catalog: ${file.plans.length} plans.\n`)
    })
  }
  return serve(
    args.filter((word) => word !== emptyFlag),
    target,
    isEmpty,
  )
}

/** @returns wrangler's own exit code, or 0 after a signal. */
async function serve(args: string[], target: Target, isEmpty: boolean): Promise<number> {
  // With --test-scheduled, wrangler doesn't warn that nothing runs the schedule.
  const flags = ['dev', '--env', '', '--test-scheduled', ...args]
  const server = startWrangler(flags, ['inherit', 'inherit', 'inherit', 'ipc'])
  let isStopped = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopped = true
      server.kill(signal)
    })
  }
  const ended = once(server, 'exit')
  // Its only message: it is ready, and on which port.
  const announced = once(server, 'message').then(([message]) => {
    const { port }: { port: number } = JSON.parse(String(message))
    const origin = `http://localhost:${port}`
    startDevSchedule(origin, (reason) => {
      if (!isStopped) process.stderr.write(`Nothing was published at its time: ${reason}. Trying again in a minute.\n`)
    })
    return announce(target, origin, isEmpty)
  })
  try {
    await Promise.race([ended, announced])
    const [exitCode]: (number | null)[] = await ended
    return isStopped ? 0 : (exitCode ?? 1)
  } catch (error) {
    server.kill()
    if (isStopped) return 0
    throw error
  }
}

/** Reads the flags of wrangler that matter here; wrangler itself reports wrong ones. */
function readFlags(args: string[]) {
  const string = { type: 'string' } as const
  const options = {
    'persist-to': string,
    persistTo: string,
    env: { type: 'string', short: 'e' },
    var: { type: 'string', multiple: true },
  } as const
  const { values } = parseArgs({ args, options, strict: false, allowPositionals: true })
  const persistTo = values['persist-to'] ?? values.persistTo
  if (values.env !== undefined)
    throw new UserError('npm run dev serves the top level of wrangler.toml: leave --env out.')
  const pairs = (values.var ?? []).map((pair) => String(pair).split(/:(.*)/s, 2))
  const vars: Record<string, string> = Object.fromEntries(pairs)
  const isHelp = args.some((word) => word === '--help' || word === '-h')
  const target: Target = typeof persistTo === 'string' ? { persistTo } : {}
  return { target, vars, isHelp, isEmpty: args.includes(emptyFlag) }
}

async function ensureSigningKey(): Promise<void> {
  const keys = openDevVars(devVarsFile)
  if ((await keys.read()).length > 0) return
  await rotateLocalKey(keys, systemClock)
  process.stdout.write(`Wrote a new signing key to ${devVarsFile}.\n`)
}

async function checkConfig(source: ConfigSource): Promise<void> {
  try {
    await parseConfig(source)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const fix =
      'Secrets come from .dev.vars (delete the line of JWT_KEYS there for a new key), variables from wrangler.toml or --var.'
    throw new UserError([error.message, fix])
  }
}

async function migrate(target: Target): Promise<void> {
  const { persistTo } = target
  const state = persistTo === undefined ? [] : ['--persist-to', persistTo]
  const args = ['d1', 'migrations', 'apply', 'DB', '--local', '--env', '', ...state]
  const { exitCode, output } = await finishWrangler(startWrangler(args, ['ignore', 'pipe', 'pipe']))
  if (exitCode === 0) return
  const files = await listMigrationFiles()
  const applied = await withStore(target, ({ read }) => selectMigrations(read))
  const unknown = applied.find((name) => !files.includes(name))
  if (unknown === undefined) throw new UserError([output, 'The local database could not be migrated.'])
  const folder = persistTo ?? '.wrangler/state'
  throw new UserError(
    `The local state in ${folder} is of another schema, with ${unknown}. To start afresh, delete it: rm -r ${folder}`,
  )
}

/** Prints how to use the API, and creates the demo partner when there is no partner. */
async function announce(target: Target, origin: string, isEmpty: boolean): Promise<void> {
  const { partners, credentials } = await withStore(target, async (store) => {
    const known = await selectPartners(store.read)
    return {
      partners: known,
      credentials:
        known.length === 0 && !isEmpty
          ? await createPartner(store, demoPartner, { ...attribution, note: 'The demo partner.' })
          : undefined,
    }
  })
  const names = partners.map(({ shortName }) => shortName)
  const [shortName = demoPartner.shortName] = names.includes(demoPartner.shortName) ? [] : names
  if (credentials) process.stdout.write(describeDemo(origin, credentials))
  else if (partners.length === 0) process.stdout.write(describeEmpty(origin, target))
  else process.stdout.write(describeRestart(origin, target, shortName))
}

function describeDemo(origin: string, { shortName, country, clientId, clientSecret }: Credentials): string {
  const api = `${origin}/api/v3/partners`
  const token = `curl -s -X POST -u ${clientId}:${clientSecret} ${api}/auth | sed 's/.*"access_token":"\\([^"]*\\).*/\\1/'`
  return `
The API is served at ${api}, with a demo catalog and a demo partner:
  short name     ${shortName}
  country        ${country}
  client ID      ${clientId}
  client secret  ${clientSecret}   (shown this once: only its hash is stored)

The site for partners' developers is at ${origin}: try it, see the plans as cards.

Get a token and list the partner's plans, in another terminal:
  curl -s -H "Authorization: Bearer $(${token})" ${api}/${shortName}/plans

Or set the variables that the samples and npm run smoke read:
  export API=${origin} CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret} SHORT_NAME=${shortName}

`
}

function describeEmpty(origin: string, target: Target): string {
  const partner = ['--short-name', 'acme', '--name', 'Acme Wallet', '--country', 'KE']
  return `
The API is served at ${origin}/api/v3/partners, without demo data. In another terminal, import a catalog and create a partner:
  ${describeCommand(target, 'catalog', 'import', 'FILE')}
  ${describeCommand(target, 'partner', 'create', ...partner)}

`
}

function describeRestart(origin: string, target: Target, shortName: string): string {
  return `
The API is served at ${origin}/api/v3/partners, the site for partners' developers at ${origin}.
Plans and partners are as you left them.
A client secret can't be shown again. For a new one, in another terminal:
  ${describeCommand(target, 'partner', 'rotate', shortName, '--grace', '0')}

`
}
