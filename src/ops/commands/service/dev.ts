// The command `npm run dev`: starts `wrangler dev` on the local state, with a demo catalog and a demo partner.
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import type { Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { startWrangler } from '../../store/wrangler.ts'
import { ensureSigningKey, prepareState, printAccess } from './dev-state.ts'
import { verb } from '../frame/verb.ts'

export const dev = verb({
  help: `Serve the API and the site on this machine, with a demo catalog and a demo partner.
Other flags are passed on to wrangler dev, such as --port, --var, and --log-level info, which shows each request.`,
  example: 'dev --port 9000 --persist-to /tmp/state',
  flags: {
    persistTo: { value: '<dir>', help: 'the local state folder: relative to the project' },
  },
  store: 'none',
  passesFlagsOn: true,
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
    // 8787 is wrangler's default. The flag is passed even for the default: without it, wrangler would choose another port if 8787 is taken.
    const port = String(values.port ?? 8787)
    const args = values.port === undefined ? [...words, '--port', port] : words
    await serve(args, `http://localhost:${port}`, target)
  },
})

/**
 * This file lists the migrations of the prepared state. If there is no other migration, a build does not open the database, because a
 * running wrangler dev may use it.
 */
const stampFile = '.wrangler/state/v3/d1/prepared'

/**
 * Prepares the state for a `wrangler dev` that somebody starts without npm run dev. Wrangler runs this command in each
 * build: before wrangler reads .dev.vars and opens the database, and after each change of a source file.
 */
export const prepareDev = verb({
  help: 'create the local state that wrangler dev serves without npm run dev, unless it has all migrations; wrangler dev runs this command at each build; typed by hand, the command does nothing',
  example: 'prepare-dev',
  store: 'none',
  async run(_, { report, variables }) {
    if (variables['WRANGLER_COMMAND'] !== 'dev') return
    const migrations = (await readdir('migrations')).join('\n')
    const preparedMigrations = await readFile(stampFile, 'utf8').catch(() => '')
    await ensureSigningKey()
    if (preparedMigrations !== migrations) {
      // A build doesn't know the port of wrangler, so the printed commands use the variable API.
      report('In another terminal, set API to the address that wrangler prints: export API=http://localhost:PORT')
      await prepareState({}, (store) => printAccess(store, '$API'))
      await writeFile(stampFile, migrations)
    }
    report(
      'Prepared .wrangler/state for wrangler dev without --env. For another folder: npm run dev -- --persist-to DIR',
    )
  },
})

/**
 * Starts wrangler dev, prepares the state, runs the schedule every minute, and waits until wrangler ends, or a signal ends it.
 * @param origin shown by the site. @throws UserError when wrangler fails; also any error of `ensureSigningKey` and `prepareState`.
 */
async function serve(args: readonly string[], origin: string, target: Target): Promise<void> {
  process.stdout.write('Preparing the database, building the site, and starting the server …\n')
  // Makes the key before wrangler starts: wrangler reads the keys only at its start.
  await ensureSigningKey()
  // --test-scheduled stops wrangler's warning that nothing runs the schedule. The quiet flags hide the bindings that wrangler lists, and the
  // tunnel that it offers: only its warnings matter, unless the developer asks for more.
  const isLevelGiven = args.some((word) => word.startsWith('--log-level'))
  const quietFlags = ['--show-interactive-dev-session', 'false', ...(isLevelGiven ? [] : ['--log-level', 'warn'])]
  const flags = ['dev', '--env', '', '--test-scheduled', ...quietFlags, ...args]
  // With DEV_STATE, wrangler's build does not run `prepare-dev`: this function prepares the state.
  const variables = { DEV_STATE: 'prepared', SITE_ORIGIN: origin }
  const server = startWrangler(flags, ['inherit', 'inherit', 'inherit', 'ipc'], variables)
  let isStopped = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      isStopped = true
      server.kill(signal)
    })
  }
  const exit = once(server, 'exit')
  // Wrangler's only message says that the server is ready. False if wrangler ends first.
  const hasBecomeReady = Promise.race([exit.then(() => false), once(server, 'message').then(() => true)])
  try {
    await prepareState(target, async (store) => {
      if (!(await hasBecomeReady)) return
      runEveryMinute(async () => {
        const problem = await runSchedule(origin)
        if (problem === undefined || isStopped) return
        process.stderr.write(`Publishing scheduled changes failed: ${problem}. Trying again in a minute.\n`)
      })
      await printAccess(store, origin)
    })
    await exit
    if (server.exitCode !== 0 && !isStopped) throw new UserError('The server has ended: see the message of wrangler.')
  } catch (error) {
    server.kill()
    await exit
    if (!isStopped) throw error
  }
}

const minuteMs = 60_000
/** Added to each wait: a timer may fire a few milliseconds early, when the publications of the next minute are not due yet. */
const marginMs = 100

/** Runs `work` at the start of every minute, even if an earlier run has not ended. @param work must not reject. */
function runEveryMinute(work: () => Promise<void>): void {
  const untilNextMinuteMs = minuteMs - (Date.now() % minuteMs)
  const timer = setTimeout(() => {
    runEveryMinute(work)
    void work()
  }, untilNextMinuteMs + marginMs)
  // The timer does not keep the process alive.
  timer.unref()
}

/** Wrangler dev runs no Cron Trigger by itself. @returns why the schedule failed; undefined when it succeeded. */
async function runSchedule(origin: string): Promise<string | undefined> {
  try {
    const { ok, status } = await fetch(`${origin}/cdn-cgi/local/scheduled`, { signal: AbortSignal.timeout(minuteMs) })
    return ok ? undefined : `the local Worker answered ${status}`
  } catch (error) {
    return String(error)
  }
}
