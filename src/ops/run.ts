// The operators' command line as a whole: its commands, and the one place that decides an exit code.
import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { ConfigError } from '../config.ts'
import { addCatalogCommands } from './catalog.ts'
import type { Io } from './io.ts'
import { addKeyCommands } from './keys.ts'
import { addPartnerCommands } from './partner.ts'
import { addPlanCommands } from './plan.ts'
import { UserError } from './user-error.ts'

/** @returns the exit code: 0, 2 for a mistake of the user's, which stderr names line by line, 1 for a bug. */
export async function runOps(argv: readonly string[], io: Io): Promise<0 | 1 | 2> {
  const program = new Command('ops')
    .description('Operate the partner investment plan catalog.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(`${text.trim().replaceAll('\n', ' ')}\n`),
    })
  addPartnerCommands(program, io)
  addCatalogCommands(program, io)
  addPlanCommands(program, io)
  addKeyCommands(program, io)

  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has written its own message by now; --help is no mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const isMistake = error instanceof UserError || error instanceof ConfigError
    // Drizzle's own error holds parameters.
    const bug = error instanceof DrizzleQueryError ? error.cause : error
    io.stderr.write(isMistake ? `${error.message}\n` : `A bug: ${bug instanceof Error ? bug.stack : String(bug)}\n`)
    return isMistake ? 2 : 1
  }
}
