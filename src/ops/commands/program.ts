// The operators' command line as a whole: its commands, and the one place that decides an exit code.
import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { ConfigError } from '../../worker/config.ts'
import { addCatalogCommands } from './catalog-commands.ts'
import type { Io } from '../terminal/io.ts'
import { addKeyCommands } from './keys-commands.ts'
import { addPartnerCommands } from './partner-commands.ts'
import { addPlanCommands } from './plan-commands.ts'
import { UserError } from '../core/user-error.ts'

/** @returns the exit code: 0, 2 for a mistake of the user's, which stderr names line by line, 1 for a bug. */
export async function runOps(argv: readonly string[], io: Io): Promise<0 | 1 | 2> {
  const program = new Command('ops')
    .description('Operate the partner investment plan catalog.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      outputError: (text, write) => write(describeUsageError(text)),
    })
  addPartnerCommands(program, io)
  addCatalogCommands(program, io)
  addPlanCommands(program, io)
  addKeyCommands(program, io)

  try {
    checkNpmFlags(program, argv)
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has written its own message by now; --help is no mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const isMistake = error instanceof UserError || error instanceof ConfigError
    // Drizzle's own error holds parameters.
    const bug = error instanceof DrizzleQueryError ? error.cause : error
    const message = isMistake ? error.message : `A bug: ${bug instanceof Error ? bug.stack : String(bug)}`
    io.stderr.write(`${makeVisible(message)}\n`)
    return isMistake ? 2 : 1
  }
}

/** Without the `--` before them npm keeps flags for itself: nobody's --dry-run becomes an import for that. */
function checkNpmFlags(program: Command, argv: readonly string[]): void {
  const kept = program.commands
    .flatMap(({ commands }) => commands.flatMap(({ options }) => options))
    .filter(({ long }) => long !== '--json' && long !== '--yes')
    .find(({ long }) => {
      const variable = `npm_config_${long?.slice(2).replaceAll('-', '_')}`
      return process.env[variable] && !argv.some((word) => word === long || word.startsWith(`${long}=`))
    })
  if (kept)
    throw new UserError(`npm kept ${kept.long} for itself. Write: npm run -s ops -- …, with -- before the command.`)
}

/** Commander's own sentence, in our form. */
function describeUsageError(text: string): string {
  const [, sentence = text] = /^error: (.*)$/s.exec(text.trim()) ?? []
  const words = makeVisible(sentence).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. See: npm run -s ops -- --help\n`
}

/** What a file, a server or an argument brings along: a terminal would act on it. */
function makeVisible(text: string): string {
  return text.replaceAll(/[^\P{C}\n]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
