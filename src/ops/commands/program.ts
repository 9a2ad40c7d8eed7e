// The operators' command line: its commands, and the only place that decides an exit code.
import { Command, CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { ConfigError } from '../../worker/config.ts'
import { UserError } from '../core/user-error.ts'
import { describeCommand } from '../store/target.ts'
import { escapeControlCharacters, escapeOutput } from '../terminal/escape-output.ts'
import { addCheckCommand } from './check-command.ts'
import { addCatalogCommands } from './catalog-commands.ts'
import type { CommandContext } from './command-context.ts'
import { addCompletionCommand } from './completion-command.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { addKeyCommands } from './keys-commands.ts'
import { addPublicationCommands } from './publication-commands.ts'
import { addUsageCommand } from './usage-command.ts'
import { addPreviewCommand } from './preview-command.ts'
import { addPartnerCommands } from './partner-commands.ts'
import { addPlanCommands } from './plan-commands.ts'

/** @returns the exit code: 0; 2 for a mistake of the user, which stderr describes line by line; 3 when a check finds errors; 1 for a bug. */
export async function runOps(unescaped: CommandContext): Promise<0 | 1 | 2 | 3> {
  const context = { ...unescaped, io: escapeOutput(unescaped.io) }
  const { io, argv } = context
  let help = ''
  const program = new Command('ops')
    .description(description)
    .usage('<noun> <verb> [flags]')
    .addHelpText(
      'after',
      '\nRun it as: npm run -s ops -- <noun> <verb> [flags]\nWithout the -- before them, npm keeps flags such as --dry-run for itself.\nIn the project folder, npx ops <noun> <verb> [flags] does the same.\n',
    )
    .exitOverride()
    .configureOutput({
      // Written at once below: a reader such as `| head` may close the pipe after the first write.
      writeOut: (text) => void (help += text),
      writeErr: (text) => void io.stderr.write(text),
      // The same output with and without a terminal.
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  const partner = program.command('partner').description('onboard partners, and manage their credentials')
  addPartnerCommands(partner, context)
  addPreviewCommand(partner, context)
  addUsageCommand(partner, context)
  const catalog = program
    .command('catalog')
    .description('import and export the plan catalog, and its record of changes')
  addCatalogCommands(catalog, context)
  addPublicationCommands(catalog, context)
  addCheckCommand(catalog, context)
  addPlanCommands(program, context)
  addKeyCommands(program, context)
  addDoctorCommand(program, context)
  addCompletionCommand(program, context)
  pointErrorsAtHelp(program, [])

  try {
    await program.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its own message. --help also ends here, with exit code 0.
    if (error instanceof CommanderError) {
      if (help !== '') io.stdout.write(help)
      return error.exitCode === 0 ? 0 : 2
    }
    const isMistake = error instanceof UserError || error instanceof ConfigError
    // The message of a DrizzleQueryError holds parameters.
    const bug = error instanceof DrizzleQueryError ? error.cause : error
    const message = isMistake ? error.message : `A bug: ${bug instanceof Error ? bug.stack : String(bug)}`
    io.stderr.write(`${escapeControlCharacters(message)}\n`)
    if (error instanceof UserError) return error.exitCode
    return isMistake ? 2 : 1
  }
}

const helpWidth = 100

const description = `Operate the partner investment plan catalog.

Start with these, and add --help to any command:
  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE
  npm run -s ops -- catalog import plans.json --dry-run
  npm run -s ops -- plan why ID --partner acme`

/** Lets a mistake name the help of its own command. */
function pointErrorsAtHelp(command: Command, words: readonly string[]): void {
  command.configureOutput({ outputError: (text, write) => write(describeUsageError(text, words)) })
  for (const child of command.commands) pointErrorsAtHelp(child, [...words, child.name()])
}

/** Formats commander's message like our own. */
function describeUsageError(text: string, commandWords: readonly string[]): string {
  const [, sentence = text] = /^error: (.*)$/s.exec(text.trim()) ?? []
  const words = escapeControlCharacters(sentence).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  const help = describeCommand({}, ...commandWords, '--help')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. See: ${help}\n`
}
