// npm run -s ops -- <noun> <verb> [flags]
import { withStore } from './store/open-store.ts'
import { enterProject } from './project.ts'
import { runOps } from './commands/program.ts'

enterProject()
const { stdin, stdout, stderr } = process
/** Whoever reads our output may stop early (| head); a full disk may, too. */
let lost: NodeJS.ErrnoException | undefined
stdout.on('error', (error) => (lost = error))
stderr.on('error', () => {})

const code = await runOps(process.argv.slice(2), { stdin, stdout, stderr, withStore })
// Once all is written: a store that failed to open can leave handles behind that would keep the process alive.
stdout.write('', () => {
  // An error of the write before comes with this one.
  setImmediate(() => {
    if (lost)
      stderr.write(`Not all of the output could be written (${lost.code}). A secret in it is lost: rotate it.\n`)
    process.exit(lost && code === 0 ? 2 : code)
  })
})
