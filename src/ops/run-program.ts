// Runs the command line in this process, and exits with its code.
import { resolve } from 'node:path'
import { createProgress } from './terminal/progress.ts'
import { createCommandContext } from './commands/frame/command-context.ts'
import { runCommandLine } from './commands/command-line.ts'

/**
 * Works in the folder of the project, where wrangler finds its configuration. INIT_CWD keeps the folder of the operator: file
 * arguments are relative to it.
 */
export async function runProgram(): Promise<void> {
  process.env['INIT_CWD'] ??= process.cwd()
  process.chdir(resolve(import.meta.dirname, '../..'))
  const { stdin, stdout, stderr } = process
  let writeError: NodeJS.ErrnoException | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => (writeError = error))
  stderr.on('error', () => {})

  const context = createCommandContext({ stdin, stdout, stderr }, process.argv.slice(2))
  // Without a terminal that can clear a line, the spinner would print a line a second.
  const isLive = stderr.isTTY && process.env['TERM'] !== 'dumb' && process.env['CI'] === undefined
  const code = await runCommandLine({ ...context, progress: isLive ? createProgress(stderr) : undefined })
  // Waits for the output, then exits: a store that failed to open can leave handles that keep the process alive.
  stdout.write('', () => {
    // The error of an earlier write is emitted together with this callback.
    setImmediate(() => {
      // A reader such as `| head` may close the output early.
      const isFailed = writeError !== undefined && writeError.code !== 'EPIPE'
      if (writeError && context.effect.outcome === 'changed') {
        const lines = ['The change was made; its output could not be written.', context.effect.ifOutputFails ?? '']
        stderr.write(`${lines.join('\n').trim()}\n`)
      } else if (isFailed) stderr.write(`The output is incomplete (${writeError?.code}).\n`)
      process.exit(isFailed && code === 0 ? 2 : code)
    })
  })
}
