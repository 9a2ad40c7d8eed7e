// Runs a command line as this process.
import { createCommandContext } from './commands/command-context.ts'
import { runCommandLine, type Program } from './commands/program.ts'
import { enterProject } from './project.ts'

export async function runProgram(program: Program): Promise<void> {
  enterProject()
  const { stdin, stdout, stderr } = process
  /** The reader of our output may close it early (| head), and a disk may be full. */
  let writeError: NodeJS.ErrnoException | undefined
  stdout.on('error', (error) => (writeError = error))
  stderr.on('error', () => {})

  const code = await runCommandLine(program, createCommandContext({ stdin, stdout, stderr }, process.argv.slice(2)))
  // Waits for the output, then exits: a store that failed to open can leave handles that keep the process alive.
  stdout.write('', () => {
    // The error of an earlier write is emitted together with this callback.
    setImmediate(() => {
      if (writeError) {
        stderr.write(`The output is incomplete (${writeError.code}). If it had a secret, that is lost: rotate it.\n`)
      }
      process.exit(writeError && code === 0 ? 2 : code)
    })
  })
}
