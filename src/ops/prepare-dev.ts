// Part of wrangler's build command: a bare `wrangler dev` gets the local state that npm run dev prepares. Wrangler builds before
// it reads .dev.vars and opens the database, and again after each change of a source file.
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { runInProject } from './run-in-project.ts'

/** Lists the migrations of the state, so that a build doesn't open a state that is served. */
const stamp = '.wrangler/state/prepared'

if (process.env['WRANGLER_COMMAND'] === 'dev' && process.env['DEV_STATE'] !== 'prepared') {
  await runInProject(async () => {
    const migrations = (await readdir('migrations')).join('\n')
    const found = await readFile(stamp, 'utf8').catch(() => '')
    if (found === migrations && existsSync('.dev.vars')) return 0
    const { announce, prepareState } = await import('./dev-state.ts')
    await prepareState({}, {}, false)
    await announce({}, 'http://localhost:8787', false)
    await writeFile(stamp, migrations)
    process.stdout.write('For another folder or another port, use: npm run dev -- --persist-to DIR --port PORT\n')
    return 0
  })
}
