// npm run dev: prepares the local state, starts `wrangler dev` on it, and creates a demo partner.
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { startWrangler } from '../../store/wrangler.ts'
import { announce, ensureSigningKey, prepareState } from './dev-state.ts'
import { verb } from '../frame/verb.ts'

export const dev = verb({
  help: `Serve the API and the site on this machine, with a demo catalog and a demo partner.
Other flags are passed on to wrangler dev, such as --port, --var, and --log-level info, which shows each request.`,
  example: 'dev --port 9000 --persist-to /tmp/state',
  flags: {
    persistTo: { value: '<dir>', help: 'the local state folder: relative to the project' },
  },
  store: 'none',
  passesOn: true,
  async run({ persistTo }, { argv }) {
    const words = argv.slice(1)
    const options = {
      env: { type: 'string', short: 'e' },
      port: { type: 'string' },
    } as const
    const { values } = parseArgs({ args: words, options, strict: false, allowPositionals: true })
    if (values.env !== undefined) {
      throw new UserError('npm run dev serves the top level of wrangler.toml: leave --env out.')
    }
    const target = persistTo === undefined ? {} : { persistTo }
    // Wrangler's default. Without the flag, wrangler takes another port when that one is taken.
    const port = String(values.port ?? 8787)
    const args = values.port === undefined ? [...words, '--port', port] : words
    await serve(args, `http://localhost:${port}`, target)
  },
})

/** Lists the migrations of the prepared state: a build with the same migrations opens no database that is served. */
const stamp = '.wrangler/state/v3/d1/prepared'

/** Wrangler builds before it reads .dev.vars and opens the database, and again after each change of a source file. */
export const prepareDev = verb({
  help: 'create the local state that a bare wrangler dev serves, once for each set of migrations: a part of its build command',
  example: 'prepare-dev',
  store: 'none',
  async run(_, { report, variables }) {
    if (variables['WRANGLER_COMMAND'] !== 'dev') return
    const migrations = (await readdir('migrations')).join('\n')
    const found = await readFile(stamp, 'utf8').catch(() => '')
    await ensureSigningKey()
    if (found !== migrations) {
      // A build doesn't know the port.
      report('In another terminal, set API to the address that wrangler prints: export API=http://localhost:PORT')
      await prepareState({}, (store) => announce(store, '$API'))
      await writeFile(stamp, migrations)
    }
    report(
      'Prepared .wrangler/state for the top level of wrangler.toml. For another folder: npm run dev -- --persist-to DIR',
    )
  },
})

/**
 * Prepares the state while the server starts, and ends with it.
 * @param origin of the server. The site names it, and is built before the server starts.
 * @throws UserError unless a signal ended it.
 */
async function serve(args: readonly string[], origin: string, target: Target): Promise<void> {
  process.stdout.write('Preparing the database, building the site, and starting the server …\n')
  // Wrangler reads it.
  await ensureSigningKey()
  // With --test-scheduled, wrangler doesn't warn that nothing runs the schedule.
  // Wrangler lists its bindings and offers a tunnel. Only its problems matter, unless somebody asks for more.
  const isLevelGiven = args.some((word) => word.startsWith('--log-level'))
  const quiet = ['--show-interactive-dev-session', 'false', ...(isLevelGiven ? [] : ['--log-level', 'warn'])]
  const flags = ['dev', '--env', '', '--test-scheduled', ...quiet, ...args]
  const variables = { DEV_STATE: 'prepared', SITE_ORIGIN: origin }
  const server = startWrangler(flags, ['inherit', 'inherit', 'inherit', 'ipc'], variables)
  let isStopped = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopped = true
      server.kill(signal)
    })
  }
  const ended = once(server, 'exit').then(() => false)
  // Its only message.
  const isReady = Promise.race([ended, once(server, 'message').then(() => true)])
  try {
    await prepareState(target, async (store) => {
      if (!(await isReady)) return
      everyMinute(async () => {
        const problem = await runSchedule(origin)
        if (problem === undefined || isStopped) return
        process.stderr.write(`Nothing was published at its time: ${problem}. Trying again in a minute.\n`)
      })
      await announce(store, origin)
    })
    await ended
    if (server.exitCode !== 0 && !isStopped) throw new UserError('The server has ended: see the message of wrangler.')
  } catch (error) {
    server.kill()
    await ended
    if (!isStopped) throw error
  }
}

const minuteMs = 60_000
/** A timer may fire a little early, and nothing is due before its minute. */
const marginMs = 100

/** Runs `work` at the start of every minute, also while an earlier run takes longer. */
function everyMinute(work: () => Promise<void>): void {
  const run = () => {
    everyMinute(work)
    void work()
  }
  setTimeout(run, minuteMs - (Date.now() % minuteMs) + marginMs).unref()
}

/**
 * Runs the schedule, because wrangler runs no Cron Trigger by itself. It runs in the Worker, because a second process on the same
 * database would compete with it. The route exists in wrangler dev only.
 * @returns why it failed.
 */
async function runSchedule(origin: string): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(`${origin}/cdn-cgi/local/scheduled`, { signal: AbortSignal.timeout(minuteMs) })
    return ok ? undefined : `the local Worker answered ${status}`
  } catch (error) {
    return String(error)
  }
}
