// npm run migrate -- --remote --env staging, or --local: wrangler applies the migrations. Its flags are passed on.
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { runInProject } from './run-in-project.ts'
import { openAccount } from './store/cloudflare-api.ts'
import { startWrangler } from './store/wrangler.ts'

await runInProject(() => migrate(process.argv.slice(2)))

/** @returns wrangler's exit code. */
async function migrate(args: string[]): Promise<number> {
  const options = { remote: { type: 'boolean' }, env: { type: 'string', short: 'e' } } as const
  const { remote, env } = parseArgs({ args, options, strict: false, allowPositionals: true }).values
  // Wrangler would ask to log in, and not say which permissions the token needs.
  if (remote === true) await openAccount(typeof env === 'string' && env !== '' ? { env } : {}, 'D1 Edit')
  const wrangler = startWrangler(['d1', 'migrations', 'apply', 'DB', ...args], 'inherit')
  const [exitCode]: (number | null)[] = await once(wrangler, 'exit')
  return exitCode ?? 1
}
