// npm run -s ops -- <noun> <verb> [flags]
import { runOps } from './run.ts'

// Whoever reads our output may stop early (| head).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

process.exitCode = await runOps(process.argv.slice(2), process)
