// npm run dev: prepares a local state with a demo catalog, starts `wrangler dev` on it, and creates a demo partner.
// --empty leaves out the demo data. Other flags are passed on to `wrangler dev`.
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { startDevSchedule } from './dev-schedule.ts'
import { announce, prepareState } from './dev-state.ts'
import { runInProject } from './run-in-project.ts'
import type { Target } from './shared/target.ts'
import { UserError } from './shared/user-error.ts'
import { startWrangler } from './store/wrangler.ts'

const emptyFlag = '--empty'

await runInProject(() => startDevServer(process.argv.slice(2)))

/** @returns the exit code. */
async function startDevServer(args: string[]): Promise<number> {
  const { target, vars, isHelp, isEmpty } = readFlags(args)
  if (!isHelp) await prepareState(target, vars, isEmpty)
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
  const server = startWrangler(flags, ['inherit', 'inherit', 'inherit', 'ipc'], { DEV_STATE: 'prepared' })
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
