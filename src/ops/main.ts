// npm run -s ops -- <noun> <verb> [flags]
import { enterProject } from './project.ts'
import { runOps } from './run.ts'
import { withStore } from './open-store.ts'

enterProject()
// Whoever reads our output may stop early (| head).
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}
const { stdin, stdout, stderr } = process
const code = await runOps(process.argv.slice(2), { stdin, stdout, stderr, withStore })
// Once all is written: a store that failed to open can leave handles behind that would keep the process alive.
process.stdout.write('', () => process.exit(code))
