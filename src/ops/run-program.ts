// Runs the program ops: connects the command line with the streams, the folder and the exit code of this process.
import { resolve } from 'node:path'
import { createProgress } from './terminal/progress.ts'
import { createCommandContext } from './commands/frame/command-context.ts'
import { runCommandLine } from './commands/command-line.ts'

/**
 * Runs the command that the operator typed, and ends the process with the exit code of the command, or with 2 when a successful command
 * could not write all its output. Runs in the project's folder, where wrangler finds its configuration. INIT_CWD keeps the operator's
 * folder, because file arguments are relative to it.
 */
export async function runProgram(): Promise<void> {
  process.env['INIT_CWD'] ??= process.cwd()
  process.chdir(resolve(import.meta.dirname, '../..'))
  const { stdin, stdout, stderr } = process
  let writeError: NodeJS.ErrnoException | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => (writeError = error))
  // Without a listener, the error would end the process.
  stderr.on('error', () => {})

  const context = createCommandContext({ stdin, stdout, stderr }, process.argv.slice(2))
  // On a terminal that can't clear a line, the spinner would print a new line every second.
  const hasSpinner = stderr.isTTY && process.env['TERM'] !== 'dumb' && process.env['CI'] === undefined
  const exitCode = await runCommandLine({ ...context, progress: hasSpinner ? createProgress(stderr) : undefined })
  // The callback runs when all output is written. Then process.exit ends the process, because a store that failed to open can leave
  // handles that keep the process alive.
  stdout.write('', () => {
    // Node emits the error of a failed write together with this callback. setImmediate waits for the event.
    setImmediate(() => {
      // EPIPE is no failure: a reader such as `| head` closes the output when it has enough.
      const isIncomplete = writeError !== undefined && writeError.code !== 'EPIPE'
      // Even after EPIPE, the operator must learn of a change: its output can have a new secret.
      if (writeError && context.effect.outcome === 'changed') {
        const lines = ['The change was made; its output could not be written.', context.effect.ifOutputFails ?? '']
        stderr.write(`${lines.join('\n').trim()}\n`)
      } else if (isIncomplete) stderr.write(`The output is incomplete (${writeError?.code}).\n`)
      process.exit(isIncomplete && exitCode === 0 ? 2 : exitCode)
    })
  })
}
