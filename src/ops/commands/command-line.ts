// Parses a command line, runs its verb, and decides the exit code.
import { Command, CommanderError, Option } from 'commander'
import { checkAttribution, type Attribution } from '../core/attribution.ts'
import type { Store } from '../store/store.ts'
import { describeStart, quoteWords, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { escapeControlCharacters, escapeOutput } from '../terminal/escape-output.ts'
import { createProgress } from '../terminal/progress.ts'
import { putOnOneLine } from '../terminal/table.ts'
import type { CommandContext } from './command-context.ts'
import { footer, help, nouns, verbs } from './ops.ts'
import { createRun } from './run.ts'
import { listFlags } from './shared-flags.ts'
import { toKebabCase, type Flag, type Verb } from './verb.ts'

/** 0; 2 for a mistake or a service that can't be used, 3 for findings: stderr has them line by line; 1 for a bug. */
export type ExitCode = 0 | 1 | 2 | 3

type Values = Readonly<Record<string, unknown>>

const helpWidth = 100

export async function runCommandLine(unescaped: CommandContext): Promise<ExitCode> {
  const context = { ...unescaped, io: escapeOutput(unescaped.io) }
  const { io, argv } = context
  let page = ''
  let code: ExitCode = 0
  const root = new Command('ops').exitOverride().configureOutput({
    // Written at once below: a reader such as `| head` may close the pipe after the first write.
    writeOut: (text) => void (page += text),
    writeErr: (text) => void io.stderr.write(text),
    // The same output with and without a terminal.
    getOutHelpWidth: () => helpWidth,
    getErrHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  })
  try {
    const typed = await addCommands(root, argv, async (command, verb) => {
      code = await runVerb(verb, readValues(command, verb), context)
    })
    if (!argv.includes('--help')) refuseKeptFlags(typed, context.variables)
    await root.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    // Commander has printed its own message. --help also ends here, with exit code 0.
    if (error instanceof CommanderError) {
      if (page !== '') io.stdout.write(page)
      return error.exitCode === 0 ? 0 : 2
    }
    const isMistake = error instanceof Error && (await isExpected(error))
    const bug = error instanceof Error ? error.stack : String(error)
    io.stderr.write(`${escapeControlCharacters(isMistake ? error.message : `A bug: ${bug}`)}\n`)
    return isMistake ? 2 : 1
  }
}

/** Whether the message of an error is for people. */
async function isExpected(error: Error): Promise<boolean> {
  if (error instanceof UserError) return true
  // Loaded only now: not every command needs them.
  const [{ ConfigError }, { StorageError }] = await Promise.all([
    import('../../api/config.ts'),
    import('../../db/database.ts'),
  ])
  return error instanceof ConfigError || error instanceof StorageError
}

/** Loads only the verbs of the noun that was typed, also after `help`. @returns the commands of these verbs. */
async function addCommands(
  root: Command,
  argv: readonly string[],
  run: (command: Command, verb: Verb) => Promise<void>,
): Promise<Command[]> {
  root.description(help).usage('<noun> <verb> [flags]').addHelpText('after', footer)
  pointErrorsAtHelp(root, '')
  // Only before the noun: a verb may have a --version of its own.
  root.enablePositionalOptions()
  const version = argv[0] === '--version' ? await (await import('../store/checkout.ts')).readVersion() : ''
  root.version(version, '--version', 'display the version and the commit')
  const noun = argv.slice(0, 2).find((word) => Object.hasOwn(nouns, word) || Object.hasOwn(verbs, word)) ?? ''
  for (const [name, { help: summary }] of Object.entries(nouns)) {
    pointErrorsAtHelp(root.command(name).description(summary), name)
  }
  for (const [name, { help: summary }] of Object.entries(verbs)) root.command(name).summary(summary)
  const parent = root.commands.find((command) => command.name() === noun)
  if (parent === undefined) return []
  const alone = await verbs[noun]?.load()
  if (alone) {
    addVerb(parent, noun, alone, run)
    return [parent]
  }
  for (const [name, verb] of Object.entries((await nouns[noun]?.load()) ?? {})) {
    const words = `${noun} ${toKebabCase(name)}`
    addVerb(parent.command(toKebabCase(name)), words, verb, run)
  }
  return [...parent.commands]
}

function addVerb(
  command: Command,
  words: string,
  verb: Verb,
  run: (command: Command, verb: Verb) => Promise<void>,
): void {
  const { example, args = {}, refusesWords, passesOn } = verb
  for (const [name, { isOptional, isList }] of Object.entries(args)) {
    const word = `${toKebabCase(name)}${isList ? '...' : ''}`
    command.argument(isOptional ? `[${word}]` : `<${word}>`)
  }
  for (const [name, flag] of Object.entries(listFlags(verb))) {
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
  command.description(verb.help).addHelpText('after', `\nExample:\n  ${describeStart(example)}\n`)
  command.action(() => run(command, verb))
  pointErrorsAtHelp(command, words)
}

function toOption(name: string, flag: Flag): Option {
  const { help: text, value, default: given, isRequired, isList, choices, conflicts } = flag
  const option = new Option([`--${toKebabCase(name)}`, value].filter(Boolean).join(' '), text)
  option.makeOptionMandatory(isRequired ?? false)
  if (isList) option.argParser<string[] | undefined>((word, words = []) => [...words, word])
  if (choices) option.choices(choices)
  if (conflicts) option.conflicts([...conflicts])
  if (given !== undefined) option.default(given)
  return option
}

/**
 * npm keeps flags that no -- precedes for itself, and hands them over as variables: `--dry-run` as `npm_config_dry_run=true`.
 * It sets `npm_config_yes` to nothing by itself.
 * @throws UserError when there is one.
 */
function refuseKeptFlags(commands: readonly Command[], variables: CommandContext['variables']): void {
  const flags = new Set(commands.flatMap(({ options }) => options.map((option) => option.name())))
  const kept = [...flags].filter((flag) => variables[`npm_config_${flag.replaceAll('-', '_')}`])
  if (kept.length === 0) return
  const names = kept.map((flag) => `--${flag}`).join(' and ')
  throw new UserError(
    `npm kept ${names} for itself: write -- before your own words, as in ${describeStart('…')}. Nothing was changed.`,
  )
}

/** @returns arguments and flags by name. @throws UserError that names every value that its flag does not take. */
function readValues(command: Command, verb: Verb): Values {
  const { args = {}, refusesWords } = verb
  if (refusesWords !== undefined && command.args.length > 0) throw new UserError(refusesWords)
  const problems: string[] = []
  const parseValue = (given: unknown, parse: Flag['parse']) => {
    try {
      return parse && typeof given === 'string' ? parse(given) : given
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      problems.push(error.message)
      return undefined
    }
  }
  const values: Record<string, unknown> = {}
  for (const [index, [name, { parse }]] of Object.entries(args).entries()) {
    values[name] = parseValue(command.processedArgs[index], parse)
  }
  for (const [name, { value, parse }] of Object.entries(listFlags(verb))) {
    const given: unknown = command.getOptionValue(name)
    values[name] = value === undefined ? given === true : parseValue(given, parse)
  }
  if (problems.length > 0) throw new UserError(problems)
  return values
}

async function runVerb(verb: Verb, values: Values, context: CommandContext): Promise<ExitCode> {
  const { store: opens, changes, progress: firstStep } = verb
  const target = readTarget(values)
  // A dry run changes nothing, so it needs no author.
  const isRecorded = changes !== undefined && values['dryRun'] !== true
  const attribution = isRecorded && (await readAttribution(verb, values, target, context))
  const progress = createProgress(context.io)
  if (firstStep !== undefined) progress.update(firstStep, 0, 1)
  const run = createRun(context, target, { isJson: values['json'] === true, isSure: values['yes'] === true }, progress)
  const start = async (store?: Store): Promise<ExitCode> => {
    // The compiler has matched the code with the flags; here, both are known only at run time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const output = await verb.run(values as never, { ...run, store, attribution } as never)
    if (output) run.print(output)
    if (output?.findings === undefined) return 0
    run.warn(output.findings)
    return 3
  }
  try {
    return await (opens === undefined ? run.withStore(target, start) : start())
  } finally {
    progress.end()
  }
}

/** @throws UserError when only one of --remote and --env is given. */
function readTarget({ remote, env, persistTo }: Values): Target {
  if (remote === undefined) return {}
  if (remote === true && !env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
  if (remote === false && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
  return {
    ...(remote === true && { remote }),
    ...(typeof env === 'string' && { env }),
    ...(typeof persistTo === 'string' && { persistTo }),
  }
}

/** @throws UserError when a deployed environment would be changed by nobody, or a text can't be recorded. */
async function readAttribution(
  { hides }: Verb,
  values: Values,
  target: Target,
  { argv, findActor }: CommandContext,
): Promise<Attribution> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in runVerb
  const hidden = (hides?.(values as never) ?? []).filter(Boolean)
  const command = quoteWords(argv.map((word) => hidden.reduce((rest, text) => rest.replaceAll(text, '…'), word)))
  const { as, note } = values
  const given = {
    ...target,
    ...(typeof as === 'string' && { as }),
    // The record takes one line: a note for partners may have several.
    ...(typeof note === 'string' && { note: putOnOneLine(note).trim() }),
  }
  return checkAttribution(given, command, given.as === undefined ? await findActor() : undefined)
}

/** Lets a mistake name the help of its own command. */
function pointErrorsAtHelp(command: Command, words: string): void {
  command.configureOutput({
    outputError: (text, write) => write(describeUsageError(text, describeStart(`${words} --help`.trim()))),
  })
}

/** Formats commander's message like our own. */
function describeUsageError(text: string, seeAlso: string): string {
  const [, sentence = text] = /^error: (.*)$/s.exec(text.trim()) ?? []
  const words = escapeControlCharacters(sentence).replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}. See: ${seeAlso}\n`
}
