// Parses a command line, runs its verb, and decides the exit code.
import { Command, CommanderError, Option } from 'commander'
import { checkAttribution, checkNoSecrets, type Attribution } from '../core/record/attribution.ts'
import type { Store } from '../store/store.ts'
import { describeStart, quoteWords, type Target } from '../shared/target.ts'
import { nothingChanged, UserError } from '../shared/user-error.ts'
import { escapeOutput, type SafeIo } from '../terminal/io.ts'
import { putOnOneLine } from '../terminal/table.ts'
import type { CommandContext } from './frame/command-context.ts'
import { commands, dailyWork, footer, help, serviceWork } from './ops.ts'
import { createRun } from './frame/run.ts'
import { listFlags } from './frame/shared-flags.ts'
import { toKebabCase, type Flag, type SharedInput, type Verb } from './frame/verb.ts'

/** 0 for success; 2 for a mistake, or a service that can't be used; 3 for findings; 1 for a bug. */
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

/** A verb that the parser knows, with commander's object for it. */
interface ParsedVerb {
  command: Command
  verb: Verb
}

/** Runs the command that `argv` of the context names, and prints what went wrong. */
export async function runCommandLine(unescaped: CommandContext): Promise<ExitCode> {
  const context = { ...unescaped, io: escapeOutput(unescaped.io) }
  const { io } = context
  const isHelp = context.argv.includes('--help')
  const isAll = isHelp && context.argv.includes('--all')
  const argv = isAll ? context.argv.filter((word) => word !== '--all') : context.argv
  let page = ''
  let code: ExitCode = 0
  const root = new Command('ops').exitOverride().configureOutput({
    // Written at once below: a reader such as `| head` may close the pipe after the first write.
    writeOut: (text) => void (page += text),
    writeErr: (text) => void io.stderr.writePieces([{ style: 'red', text }]),
    // The same output with and without a terminal.
    getOutHelpWidth: () => 100,
    getErrHelpWidth: () => 100,
  })
  try {
    const parsed = await addCommands(root, argv[0], isAll, Math.floor(context.clock.nowMs() / 1000))
    for (const { command, verb } of parsed) {
      command.action(async () => void (code = await runVerb(verb, readValues(command, verb), context)))
    }
    if (!isHelp) checkNoKeptFlags(parsed, context)
    await root.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    // Commander has printed its own message. --help also ends here, with exit code 0.
    if (error instanceof CommanderError) {
      if (page !== '') io.stdout.write(page)
      return error.exitCode === 0 ? 0 : 2
    }
    const bug = error instanceof Error ? error.stack : String(error)
    io.stderr.writePieces([{ style: 'red', text: isMistake(error) ? error.message : `A bug: ${bug}` }, '\n'])
    return isMistake(error) ? 2 : 1
  }
}

/** The names of the errors whose messages are for people. Their classes would load modules that few commands need. */
const mistakes = new Set(['UserError', 'ConfigError', 'StorageError'])

function isMistake(error: unknown): error is Error {
  return error instanceof Error && mistakes.has(error.name)
}

/**
 * Adds every noun to the parser, and the verbs of one noun: the code of the others is not loaded.
 * @param noun the first word of the command line. @param isAll whether --help lists the commands that run the service, too.
 */
async function addCommands(
  root: Command,
  noun: string | undefined,
  isAll: boolean,
  nowSeconds: number,
): Promise<ParsedVerb[]> {
  root.description(help).usage('<noun> <verb> [flags]').addHelpText('after', footer).helpCommand(false)
  pointErrorsAtHelp(root, '')
  for (const [name, { help: summary }] of Object.entries(commands)) {
    const isListed = name in dailyWork || (isAll && name in serviceWork)
    const heading = name in dailyWork ? 'Daily work:' : 'Running the service:'
    root.command(name, { hidden: !isListed }).summary(summary).helpGroup(heading)
  }
  const parent = root.commands.find((command) => command.name() === noun)
  const entry = commands[noun ?? '']
  if (noun === undefined || parent === undefined || entry === undefined) return []
  if ('loadVerb' in entry) return [addVerb(parent, noun, await entry.loadVerb(), nowSeconds)]
  pointErrorsAtHelp(parent.description(entry.help).helpCommand(false), noun)
  return Object.entries(await entry.loadVerbs()).map(([name, verb]) => {
    const word = toKebabCase(name)
    return addVerb(parent.command(word), `${noun} ${word}`, verb, nowSeconds)
  })
}

/** @param words the noun and the verb, such as `partner list`. */
function addVerb(command: Command, words: string, verb: Verb, nowSeconds: number): ParsedVerb {
  const { example, args = {}, whyNoArguments, passesOn } = verb
  for (const [name, { isOptional, isList }] of Object.entries(args)) {
    const word = `${toKebabCase(name)}${isList ? '...' : ''}`
    command.argument(isOptional ? `[${word}]` : `<${word}>`)
  }
  for (const [name, flag] of Object.entries(listFlags(verb)))
    command.addOption(makeOption(command, name, flag, nowSeconds))
  // commander's own error would quote the words, which may be a secret.
  if (whyNoArguments !== undefined || passesOn) command.allowExcessArguments().allowUnknownOption()
  command.description(verb.help).addHelpText('after', `\nExample:\n  ${describeStart(example)}\n`)
  pointErrorsAtHelp(command, words)
  return { command, verb }
}

function makeOption(command: Command, name: string, flag: Flag, nowSeconds: number): Option {
  const { help: text, value, default: defaultText, isRequired, isList, choices, conflicts, parse } = flag
  const read = (word: string) => (parse ? parse(word, nowSeconds) : word)
  const option = new Option([`--${toKebabCase(name)}`, value].filter(Boolean).join(' '), text)
  option.makeOptionMandatory(isRequired ?? false)
  if (conflicts) option.conflicts([...conflicts])
  if (defaultText !== undefined) option.default(read(defaultText), defaultText)
  if (isList) return option.argParser<unknown[] | undefined>((word, words = []) => [...words, read(word)])
  if (value === undefined) {
    // Sets false on the command, because --help would print an option's default.
    command.setOptionValueWithSource(name, false, 'default')
    return option
  }
  if (choices) option.choices(choices)
  const parseChoice = option.parseArg
  // Commander itself takes the last of several values.
  return option.argParser((word) => {
    if (command.getOptionValueSource(name) === 'cli')
      command.error(`error: option '${option.flags}' can be given only once`)
    return parseChoice ? parseChoice(word, undefined) : read(word)
  })
}

/**
 * Without a -- before them, npm takes flags for itself, and passes them on as variables: `--dry-run` as `npm_config_dry_run=true`,
 * `--grace=0` as `npm_config_grace=0`. A switch in `.npmrc` becomes the same variable.
 * @throws UserError when npm has a flag of the verb that the command line lacks.
 */
function checkNoKeptFlags(parsed: readonly ParsedVerb[], { argv, variables }: CommandContext): void {
  const command = parsed.find((one, _, { length }) => length === 1 || one.command.name() === argv[1])?.command
  const kept = (command?.options ?? []).filter((option) => {
    const value = variables[`npm_config_${option.name().replaceAll('-', '_')}`]
    const isKept = value === 'true' || (option.required && value && value !== 'false')
    return isKept && !argv.includes(`--${option.name()}`)
  })
  if (kept.length === 0) return
  const names = kept.map((option) => `--${option.name()}`).join(' and ')
  throw new UserError([
    `npm kept ${names} for itself, or has it from .npmrc.`,
    `If you typed ${names}, write -- before the command, or '--' in PowerShell: ${describeStart('…')}`,
    'If not, delete the setting from its file, which this command shows: npm config list',
  ])
}

/** @returns the arguments and flags of the command line by name. @throws UserError when an argument is wrong. */
function readValues(command: Command, { args = {}, whyNoArguments }: Verb): Values {
  if (whyNoArguments !== undefined && command.args.length > 0) throw new UserError(whyNoArguments)
  const words = Object.entries(args).map(([name, { parse }], index): [string, unknown] => {
    const word: unknown = command.processedArgs[index]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- commander gives a list exactly to arguments that are lists
    return [name, parse && word !== undefined ? parse(word as never) : word]
  })
  return { ...command.opts<Values>(), ...Object.fromEntries(words) }
}

async function runVerb(verb: Verb, values: Values, context: CommandContext & { io: SafeIo }): Promise<ExitCode> {
  const target = readTarget(values)
  const { json = false, yes = false, dryRun = false } = values
  const run = createRun(context, target, { isJson: json, isConfirmed: yes })
  const start = async (attribution: Attribution | undefined, store?: Store): Promise<ExitCode> => {
    // The compiler has matched the code with the flags; here, both are known only at run time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const output = await verb.run(values as never, { ...run, store, attribution } as never)
    if (output) run.print(output)
    if (output?.findings === undefined) return 0
    context.io.stderr.writePieces([{ style: 'red', text: output.findings }, '\n'])
    return 3
  }
  // Wrangler, to which such a verb passes its words, writes to the terminal by itself.
  if (verb.store !== 'none' && !verb.passesOn) run.progress?.show('Working')
  try {
    // A dry run changes nothing, so it needs no author.
    const attribution = verb.changes && !dryRun ? await readAttribution(verb, values, target, context) : undefined
    if (verb.store !== undefined) return await start(attribution)
    return await run.withStore(target, (store) => start(attribution, store))
  } catch (error) {
    const { outcome, isMarked = false } = context.effect
    const isRefused = (verb.changes || verb.asks) && !dryRun && outcome === 'unchanged' && !isMarked
    throw isRefused && isMistake(error) ? new UserError([error.message, nothingChanged].filter(Boolean)) : error
  } finally {
    run.progress?.stop()
  }
}

/** @throws UserError when only one of --remote and --env is given. */
function readTarget({ remote, env, persistTo }: Values): Target {
  // A verb without these flags names its environment itself.
  if (remote === undefined) return {}
  if (remote && !env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
  if (!remote && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
  return { ...(env !== undefined && { remote, env }), ...(persistTo !== undefined && { persistTo }) }
}

/**
 * Reads who makes the change, by which command, and why.
 * @throws UserError when nobody is named for a change of a deployed environment, or a word of the command line is a secret.
 */
async function readAttribution(
  { hides }: Verb,
  values: Values,
  { remote = false }: Target,
  { argv, findActor }: CommandContext,
): Promise<Attribution> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in runVerb
  const hidden = (hides?.(values as never) ?? []).filter(Boolean)
  const hide = (word: string) => hidden.reduce((rest, text) => rest.replaceAll(text, '…'), word)
  // The record keeps one line.
  const command = putOnOneLine(quoteWords(argv.map(hide)))
  const actor = values.as ?? (await findActor()) ?? (remote ? undefined : 'local')
  // Checks the hidden words, too: the record lacks a contact, but the database stores it.
  checkNoSecrets([...argv, actor ?? ''])
  const note = values.note === undefined ? null : putOnOneLine(hide(values.note)).trim()
  return checkAttribution({ ...(actor !== undefined && { actor }), command, note })
}

/** Formats commander's messages as sentences, and adds the command that shows the help. @param words a verb such as `partner list`. */
function pointErrorsAtHelp(command: Command, words: string): void {
  const seeAlso = describeStart(`${words} --help`.trim())
  command.configureOutput({
    outputError: (text, write) => {
      const sentence = text
        .trim()
        .replace(/^error: /, '')
        .replaceAll(/\s+/g, ' ')
      write(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1).replace(/\.$/, '')}.\nSee: ${seeAlso}\n`)
    },
  })
}
