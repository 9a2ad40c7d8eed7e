// What the command lines of this folder share: their output, and the only place that decides an exit code.
import { Command, CommanderError } from 'commander'
import { ConfigError } from '../../api/config.ts'
import { StorageError } from '../../db/database.ts'
import { UserError } from '../shared/user-error.ts'
import { escapeControlCharacters, escapeOutput } from '../terminal/escape-output.ts'
import type { CommandContext } from './command-context.ts'

/** 0; 2 for a mistake of the user, which stderr describes line by line; 3 when a check finds errors; 1 for a bug. */
export type ExitCode = 0 | 1 | 2 | 3

/**
 * @param describeHelp the command that prints the help of a command, from its words.
 * @returns a program to add flags and commands to, the context for them, and a function that runs it.
 */
export function openProgram(
  name: string,
  unescaped: CommandContext,
  describeHelp: (words: readonly string[]) => string,
) {
  const context = { ...unescaped, io: escapeOutput(unescaped.io) }
  const { io, argv } = context
  let help = ''
  const program = new Command(name).exitOverride().configureOutput({
    // Written at once below: a reader such as `| head` may close the pipe after the first write.
    writeOut: (text) => void (help += text),
    writeErr: (text) => void io.stderr.write(text),
    // The same output with and without a terminal.
    getOutHelpWidth: () => helpWidth,
    getErrHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  })

  async function run(): Promise<ExitCode> {
    pointErrorsAtHelp(program, [], describeHelp)
    try {
      await program.parseAsync(argv, { from: 'user' })
      return 0
    } catch (error) {
      // Commander has printed its own message. --help also ends here, with exit code 0.
      if (error instanceof CommanderError) {
        if (help !== '') io.stdout.write(help)
        return error.exitCode === 0 ? 0 : 2
      }
      const isMistake = [UserError, ConfigError, StorageError].some((expected) => error instanceof expected)
      const message =
        isMistake && error instanceof Error
          ? error.message
          : `A bug: ${error instanceof Error ? error.stack : String(error)}`
      io.stderr.write(`${escapeControlCharacters(message)}\n`)
      if (error instanceof UserError) return error.exitCode
      return isMistake ? 2 : 1
    }
  }

  return { program, context, run }
}

const helpWidth = 100

/** Lets a mistake name the help of its own command. */
function pointErrorsAtHelp(
  command: Command,
  words: readonly string[],
  describeHelp: (words: readonly string[]) => string,
): void {
  command.configureOutput({
    outputError: (text, write) => write(describeUsageError(text, describeHelp(words))),
  })
  for (const child of command.commands) pointErrorsAtHelp(child, [...words, child.name()], describeHelp)
}

/** Formats commander's message like our own. */
function describeUsageError(text: string, help: string): string {
  const [, sentence = text] = /^error: (.*)$/s.exec(text.trim()) ?? []
  const words = escapeControlCharacters(sentence).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. See: ${help}\n`
}
