// Parses a command line, runs its verb, and decides the exit code.
import { Command, CommanderError, Option } from 'commander'
import { checkAttribution, type Attribution } from '../core/attribution.ts'
import type { Store } from '../store/store.ts'
import { describeStart, quoteWords, type Target } from '../shared/target.ts'
import { throwProblems, UserError } from '../shared/user-error.ts'
import { escapeControlCharacters, escapeOutput } from '../terminal/escape-output.ts'
import { putOnOneLine } from '../terminal/table.ts'
import type { CommandContext } from './command-context.ts'
import { footer, help, nouns, verbs } from './ops.ts'
import { createRun } from './run.ts'
import { listFlags } from './shared-flags.ts'
import { toKebabCase, type Flag, type SharedInput, type Verb } from './verb.ts'

/** 0; 2 for a mistake or a service that can't be used, 3 for findings: stderr has them line by line; 1 for a bug. */
export type ExitCode = 0 | 1 | 2 | 3

/** Arguments and flags by name. The flags that verbs share have known types. */
interface Values extends Partial<SharedInput> {
  [name: string]: unknown
  remote?: boolean
  env?: string
  persistTo?: string
  dryRun?: boolean
  yes?: boolean
}

type Start = (command: Command, verb: Verb) => Promise<void>

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
    getOutHelpWidth: () => 100,
    getErrHelpWidth: () => 100,
  })
  try {
    const typed = await addCommands(root, argv, async (command, verb) => {
      code = await runVerb(verb, readValues(command, verb, Math.floor(context.clock.nowMs() / 1000)), context)
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
    const isMistake = error instanceof Error && mistakes.has(error.name)
    const bug = error instanceof Error ? error.stack : String(error)
    io.stderr.write(`${escapeControlCharacters(isMistake ? error.message : `A bug: ${bug}`)}\n`)
    return isMistake ? 2 : 1
  }
}

/** The errors whose messages are for people, by name: not every command loads them. */
const mistakes = new Set(['UserError', 'ConfigError', 'StorageError'])

/** Loads only the verbs of the noun that was typed, also after `help`. @returns the commands of these verbs. */
async function addCommands(root: Command, argv: readonly string[], start: Start): Promise<Command[]> {
  root.description(help).usage('<noun> <verb> [flags]').addHelpText('after', footer)
  pointErrorsAtHelp(root, '')
  // Only before the noun: a verb may have a --version of its own.
  root.enablePositionalOptions()
  const version = argv[0] === '--version' ? await (await import('../store/checkout.ts')).readVersion() : ''
  root.version(version, '--version', 'display the version and the commit')
  for (const [name, { help: summary }] of Object.entries({ ...nouns, ...verbs })) root.command(name).summary(summary)
  const parent = root.commands.find((command) => argv.slice(0, 2).includes(command.name()))
  const noun = parent?.name() ?? ''
  const alone = await verbs[noun]?.load()
  if (parent && alone) addVerb(parent, noun, alone, start)
  if (parent === undefined || alone) return parent ? [parent] : []
  pointErrorsAtHelp(parent.description(nouns[noun]?.help ?? ''), noun)
  for (const [name, verb] of Object.entries((await nouns[noun]?.load()) ?? {})) {
    const word = toKebabCase(name)
    addVerb(parent.command(word), `${noun} ${word}`, verb, start)
  }
  return [...parent.commands]
}

function addVerb(command: Command, words: string, verb: Verb, start: Start): void {
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
  command.action(() => start(command, verb))
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

/** @throws UserError that names every value that its argument or flag does not take. */
function readValues(command: Command, verb: Verb, nowSeconds: number): Values {
  const { args = {}, refusesWords } = verb
  if (refusesWords !== undefined && command.args.length > 0) throw new UserError(refusesWords)
  const values: Values = {}
  const problems: string[] = []
  const read = (name: string, given: unknown, parse: Flag['parse']) => {
    try {
      values[name] = parse && typeof given === 'string' ? parse(given, nowSeconds) : given
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      problems.push(error.message)
    }
  }
  for (const [index, [name, { parse }]] of Object.entries(args).entries()) {
    read(name, command.processedArgs[index], parse)
  }
  for (const [name, { value, parse }] of Object.entries(listFlags(verb))) {
    const given: unknown = command.getOptionValue(name)
    read(name, value === undefined ? given === true : given, parse)
  }
  throwProblems(problems)
  return values
}

async function runVerb(verb: Verb, values: Values, context: CommandContext): Promise<ExitCode> {
  const target = readTarget(values)
  const { json = false, yes = false, dryRun = false } = values
  // A dry run changes nothing, so it needs no author.
  const attribution = verb.changes && !dryRun && (await readAttribution(verb, values, target, context))
  const isChange = verb.changes === 'at-once'
  const run = createRun(context, target, { isJson: json, isSure: yes, isChange })
  const start = async (store?: Store): Promise<ExitCode> => {
    // The compiler has matched the code with the flags; here, both are known only at run time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const output = await verb.run(values as never, { ...run, store, attribution } as never)
    if (output) run.print(output)
    if (output?.findings === undefined) return 0
    run.warn(output.findings)
    return 3
  }
  return verb.store === undefined ? run.withStore(target, start) : start()
}

/** @throws UserError when only one of --remote and --env is given. */
function readTarget({ remote, env, persistTo }: Values): Target {
  // A verb without these flags names its environment itself.
  if (remote === undefined) return {}
  if (remote && !env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
  if (!remote && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
  return { ...(env !== undefined && { remote, env }), ...(persistTo !== undefined && { persistTo }) }
}

/** @throws UserError when a deployed environment would be changed by nobody, or a text can't be recorded. */
async function readAttribution(
  { hides }: Verb,
  values: Values,
  { remote = false }: Target,
  { argv, findActor }: CommandContext,
): Promise<Attribution> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in runVerb
  const hidden = (hides?.(values as never) ?? []).filter(Boolean)
  const command = quoteWords(argv.map((word) => hidden.reduce((rest, text) => rest.replaceAll(text, '…'), word)))
  const actor = values.as ?? (await findActor()) ?? (remote ? undefined : 'local')
  // The record takes one line: a note for partners may have several.
  const note = values.note === undefined ? null : putOnOneLine(values.note).trim()
  return checkAttribution({ ...(actor !== undefined && { actor }), command, note })
}

/** Formats commander's message like our own, and names the help of the command. */
function pointErrorsAtHelp(command: Command, words: string): void {
  const seeAlso = describeStart(`${words} --help`.trim())
  command.configureOutput({
    outputError: (text, write) => {
      const sentence = escapeControlCharacters(text.trim().replace(/^error: /, '')).replaceAll(/\s+/g, ' ')
      write(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1).replace(/\.$/, '')}. See: ${seeAlso}\n`)
    },
  })
}
