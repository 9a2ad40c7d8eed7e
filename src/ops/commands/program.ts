// Parses a command line by a table of declarations, runs the command, and decides the exit code.
import { Command, CommanderError, Option } from 'commander'
import type { Store } from '../store/store.ts'
import type { Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { escapeControlCharacters, escapeOutput } from '../terminal/escape-output.ts'
import { putOnOneLine } from '../terminal/table.ts'
import { readAttribution, type CommandContext } from './command-context.ts'
import { toFlag, toKebabCase, type AnyHandler, type Declaration, type Flag, type Noun } from './declaration.ts'
import { findKeptFlags } from './kept-flags.ts'
import { createRun } from './run.ts'
import { listFlags } from './shared-flags.ts'

/** 0; 2 for a mistake of the user, which stderr describes line by line; 3 when a check finds errors; 1 for a bug. */
export type ExitCode = 0 | 1 | 2 | 3

export interface Program {
  name: string
  /** How people start it, such as `npm run -s ops --`. */
  command: string
  help: string
  usage: string
  /** Follows the help. */
  footer?: string
  /** The noun '' has verbs without a noun. A program of one command has only that noun, with the verb ''. */
  nouns: Readonly<Record<string, Noun>>
}

/** A command of the table. */
interface Entry {
  /** Such as `partner create`. */
  words: string
  declaration: Declaration
  load: () => Promise<AnyHandler>
}

const helpWidth = 100

export async function runCommandLine(program: Program, unescaped: CommandContext): Promise<ExitCode> {
  const context = { ...unescaped, io: escapeOutput(unescaped.io) }
  const { io, argv, variables } = context
  let help = ''
  const root = new Command(program.name).exitOverride().configureOutput({
    // Written at once below: a reader such as `| head` may close the pipe after the first write.
    writeOut: (text) => void (help += text),
    writeErr: (text) => void io.stderr.write(text),
    // The same output with and without a terminal.
    getOutHelpWidth: () => helpWidth,
    getErrHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  })
  addNouns(root, program, (command, entry) => runEntry(entry, readValues(command, entry.declaration), context))
  try {
    const kept = findKeptFlags(
      listEntries(program).flatMap(({ declaration }) => Object.keys(listFlags(declaration))),
      variables,
      program.command,
    )
    if (kept !== undefined && !argv.includes('--help')) throw new UserError(kept)
    await root.parseAsync(argv, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its own message. --help also ends here, with exit code 0.
    if (error instanceof CommanderError) {
      if (help !== '') io.stdout.write(help)
      return error.exitCode === 0 ? 0 : 2
    }
    const isMistake = await isExpected(error)
    const message =
      isMistake && error instanceof Error
        ? error.message
        : `A bug: ${error instanceof Error ? error.stack : String(error)}`
    io.stderr.write(`${escapeControlCharacters(message)}\n`)
    if (error instanceof UserError) return error.exitCode
    return isMistake ? 2 : 1
  }
}

/** Whether the message of an error is for people. */
async function isExpected(error: unknown): Promise<boolean> {
  if (error instanceof UserError) return true
  // Loaded only now: not every command needs them.
  const [{ ConfigError }, { StorageError }] = await Promise.all([
    import('../../api/config.ts'),
    import('../../db/database.ts'),
  ])
  return error instanceof ConfigError || error instanceof StorageError
}

/** @returns every command of a program, in the order of its help. */
export function listEntries({ nouns }: Program): Entry[] {
  return Object.entries(nouns).flatMap(([noun, { verbs, load }]) =>
    Object.entries(verbs).map(([name, declaration]) => ({
      words: [noun, toKebabCase(name)].filter(Boolean).join(' '),
      declaration,
      load: async () => {
        const handler = (await load(name))[name]
        if (handler === undefined) throw new Error(`no code for ${noun} ${name}`)
        return handler
      },
    })),
  )
}

function addNouns(root: Command, program: Program, run: (command: Command, entry: Entry) => Promise<void>): void {
  const { command: start, nouns, help, usage, footer = '' } = program
  root.description(help).usage(usage).addHelpText('after', footer)
  pointErrorsAtHelp(root, start)
  const parents = new Map([['', root]])
  for (const [noun, { help: nounHelp }] of Object.entries(nouns)) {
    if (noun === '') continue
    const parent = root.command(noun).description(nounHelp)
    pointErrorsAtHelp(parent, `${start} ${noun}`)
    parents.set(noun, parent)
  }
  for (const entry of listEntries(program)) {
    const { words, declaration } = entry
    const [verb = '', noun = ''] = words.split(' ').toReversed()
    const parent = parents.get(noun) ?? root
    const command = verb === '' ? root : parent.command(verb).description(declaration.help)
    addWords(command, declaration)
    command.addHelpText('after', `\nExample:\n  ${start} ${declaration.example}\n`).action(() => run(command, entry))
    pointErrorsAtHelp(command, [start, words].join(' ').trim())
  }
}

function addWords(command: Command, declaration: Declaration): void {
  const { args = {}, refusesWords, passesOn } = declaration
  for (const [name, { isOptional, isList }] of Object.entries(args)) {
    const word = `${toKebabCase(name)}${isList ? '...' : ''}`
    command.argument(isOptional ? `[${word}]` : `<${word}>`)
  }
  for (const [name, flag] of Object.entries(listFlags(declaration))) {
    const option = toOption(name, flag)
    // Before commander's own listener, which would replace the value.
    command.on(`option:${option.name()}`, () => {
      if (flag.isList || command.getOptionValueSource(option.attributeName()) !== 'cli') return
      command.error(`error: option '${option.flags}' can be given only once`)
    })
    command.addOption(option)
  }
  // Otherwise the error quotes the words.
  if (refusesWords !== undefined || passesOn) command.allowExcessArguments().allowUnknownOption()
}

function toOption(name: string, flag: Flag): Option {
  const { help, value, default: text, isRequired, isList, choices, conflicts } = flag
  const option = new Option([toFlag(name), value].filter(Boolean).join(' '), help)
  option.makeOptionMandatory(isRequired ?? false)
  if (text !== undefined) option.default(text)
  if (isList) option.argParser<string[] | undefined>((word, words = []) => [...words, word])
  if (choices) option.choices(choices)
  if (conflicts) option.conflicts([...conflicts])
  return option
}

/** @returns arguments and flags by name. @throws UserError that names every value that its flag does not take. */
function readValues(command: Command, declaration: Declaration): Record<string, unknown> {
  const { args = {}, refusesWords } = declaration
  if (refusesWords !== undefined && command.args.length > 0) throw new UserError(refusesWords)
  const problems: string[] = []
  const parseText = (parse: Flag['parse'], given: unknown) => {
    if (parse === undefined || typeof given !== 'string') return given
    try {
      return parse(given)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      problems.push(error.message)
      return undefined
    }
  }
  const words = Object.entries(args).map(([name, { parse }], index): [string, unknown] => [
    name,
    parseText(parse, command.processedArgs[index]),
  ])
  const flags = Object.entries(listFlags(declaration)).map(([name, { value, parse }]): [string, unknown] => {
    const given: unknown = command.getOptionValue(name)
    if (value === undefined) return [name, given === true]
    return [name, parseText(parse, given)]
  })
  if (problems.length > 0) throw new UserError(problems)
  const values = Object.fromEntries([...words, ...flags])
  const problem = declaration.rule?.(values)
  if (problem !== undefined) throw new UserError(problem)
  return values
}

async function runEntry(
  { declaration, load }: Entry,
  values: Readonly<Record<string, unknown>>,
  context: CommandContext,
): Promise<void> {
  const { store: openedBy, changes, args = {}, progress } = declaration
  const target = readTarget(values)
  const handler = await load()
  const hidden = Object.keys(args).flatMap((name) => (args[name]?.isPrivate ? [values[name]] : []))
  // A dry run changes nothing, so it needs no author.
  const isRecorded = changes !== undefined && values['dryRun'] !== true
  const attribution = isRecorded && (await readAttribution(context, { ...target, ...readAuthor(values) }, hidden))
  const run = createRun(context, target, { isJson: values['json'] === true, isSure: values['yes'] === true }, progress)
  const start = async (store?: Store) => {
    // The compiler has matched each handler with its declaration; here, both are known only at run time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const output = await handler(values as never, { ...run, store, attribution } as never)
    if (output) run.print(output)
  }
  try {
    await (openedBy === undefined ? run.withStore(target, start) : start())
  } finally {
    run.end()
  }
}

/** @throws UserError when only one of --remote and --env is given. */
function readTarget({ remote, env, persistTo }: Readonly<Record<string, unknown>>): Target {
  if (remote === undefined) return {}
  if (remote === true && !env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
  if (remote === false && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
  return {
    ...(remote === true && { remote }),
    ...(typeof env === 'string' && { env }),
    ...(typeof persistTo === 'string' && { persistTo }),
  }
}

/** The record takes one line: a note for partners may have several. */
function readAuthor({ as, note }: Readonly<Record<string, unknown>>): { as?: string; note?: string } {
  return {
    ...(typeof as === 'string' && { as }),
    ...(typeof note === 'string' && { note: putOnOneLine(note).trim() }),
  }
}

/** Lets a mistake name the help of its own command. */
function pointErrorsAtHelp(command: Command, words: string): void {
  command.configureOutput({
    outputError: (text, write) => write(describeUsageError(text, `${words} --help`)),
  })
}

/** Formats commander's message like our own. */
function describeUsageError(text: string, help: string): string {
  const [, sentence = text] = /^error: (.*)$/s.exec(text.trim()) ?? []
  const words = escapeControlCharacters(sentence).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. See: ${help}\n`
}
