// Parses a command line, runs its verb, and decides the exit code.
import { Command, CommanderError, Option } from 'commander'
import { makeAttribution, checkNoSecrets, type Attribution } from '../core/record/attribution.ts'
import type { Store } from '../store/store.ts'
import { prefixWithNpm, quoteWords, type Target } from '../shared/target.ts'
import { nothingChanged, UserError } from '../shared/user-error.ts'
import { escapeOutput, type SafeIo } from '../terminal/io.ts'
import { putOnOneLine } from '../terminal/table.ts'
import type { CommandContext } from './frame/command-context.ts'
import { commands, dailyWork, footer, help, serviceWork } from './ops.ts'
import { createRun } from './frame/run.ts'
import { listFlags } from './frame/shared-flags.ts'
import { toKebabCase, type Flag, type SharedInput, type Verb } from './frame/verb.ts'

/** 0: success. 1: a bug. 2: a mistake of the user, or a service that can't be used. 3: somebody must act on the output. */
export type ExitCode = 0 | 1 | 2 | 3

/** The arguments and flags of a command line, by name. The shared flags have known types. */
interface Values extends Partial<SharedInput> {
  [name: string]: unknown
  /** False without the flag, as for every flag without a value. Undefined: the verb has no such flag. */
  remote?: boolean
  env?: string
  persistTo?: string
  dryRun?: boolean
  yes?: boolean
}

interface AddedVerb {
  command: Command
  verb: Verb
}

export async function runCommandLine(contextWithRawIo: CommandContext): Promise<ExitCode> {
  const context = { ...contextWithRawIo, io: escapeOutput(contextWithRawIo.io) }
  const { io } = context
  const isHelp = context.argv.includes('--help')
  const showsAll = isHelp && context.argv.includes('--all')
  const argv = showsAll ? context.argv.filter((word) => word !== '--all') : context.argv
  const nowSeconds = Math.floor(context.clock.nowMs() / 1000)
  let helpPage = ''
  let exitCode: ExitCode = 0
  const root = new Command('ops').exitOverride().configureOutput({
    // The page is written at once, below: a reader such as `| head` may close the pipe after the first write.
    writeOut: (text) => void (helpPage += text),
    writeErr: (text) => void io.stderr.writePieces([{ style: 'red', text }]),
    // A fixed width, so that the help is the same with and without a terminal.
    getOutHelpWidth: () => 100,
    getErrHelpWidth: () => 100,
  })
  try {
    const verbs = await addCommands(root, argv[0] ?? '', showsAll, nowSeconds)
    for (const { command, verb } of verbs) {
      command.action(async () => void (exitCode = await runVerb(verb, readValues(command, verb), context)))
    }
    if (!isHelp) checkNpmKeptNoFlags(verbs, context)
    await root.parseAsync(argv, { from: 'user' })
    return exitCode
  } catch (error) {
    // Commander has printed its own message. After --help, it throws an error with exit code 0.
    if (error instanceof CommanderError) {
      if (helpPage !== '') io.stdout.write(helpPage)
      return error.exitCode === 0 ? 0 : 2
    }
    const bug = error instanceof Error ? error.stack : String(error)
    io.stderr.writePieces([{ style: 'red', text: isExpectedError(error) ? error.message : `A bug: ${bug}` }, '\n'])
    return isExpectedError(error) ? 2 : 1
  }
}

/** The names of errors that are no bug. The classes are not imported, because they would load modules that few commands need. */
const expectedErrors = new Set(['UserError', 'ConfigError', 'StorageError'])

function isExpectedError(error: unknown): error is Error {
  return error instanceof Error && expectedErrors.has(error.name)
}

/** Adds all nouns, and loads the verbs of the typed noun only. @param showsAll whether --help lists all nouns. @returns these verbs; none for an unknown noun. */
async function addCommands(root: Command, noun: string, showsAll: boolean, nowSeconds: number): Promise<AddedVerb[]> {
  root.description(help).usage('<noun> <verb> [flags]').addHelpText('after', footer).helpCommand(false)
  pointErrorsAtHelp(root, '')
  for (const [name, { help: summary }] of Object.entries(commands)) {
    const isListed = name in dailyWork || (showsAll && name in serviceWork)
    const heading = name in dailyWork ? 'Daily work:' : 'Running the service:'
    root.command(name, { hidden: !isListed }).summary(summary).helpGroup(heading)
  }
  const parent = root.commands.find((command) => command.name() === noun)
  const entry = commands[noun]
  if (parent === undefined || entry === undefined) return []
  if ('loadVerb' in entry) return [addVerb(parent, noun, await entry.loadVerb(), nowSeconds)]
  pointErrorsAtHelp(parent.description(entry.help).helpCommand(false), noun)
  return Object.entries(await entry.loadVerbs()).map(([name, verb]) => {
    const word = toKebabCase(name)
    return addVerb(parent.command(word), `${noun} ${word}`, verb, nowSeconds)
  })
}

/** Gives commander's object the arguments, flags and help of a verb. @param words the noun and the verb, such as `partner list`. */
function addVerb(command: Command, words: string, verb: Verb, nowSeconds: number): AddedVerb {
  const { example, args = {}, noArgumentsError, passesFlagsOn } = verb
  for (const [name, { isOptional, isList }] of Object.entries(args)) {
    const word = `${toKebabCase(name)}${isList ? '...' : ''}`
    command.argument(isOptional ? `[${word}]` : `<${word}>`)
  }
  for (const [name, flag] of Object.entries(listFlags(verb))) {
    command.addOption(makeOption(command, name, flag, nowSeconds))
  }
  // With `noArgumentsError`, readValues refuses arguments: the error of commander would quote them, and one may be a secret.
  if (noArgumentsError !== undefined || passesFlagsOn) command.allowExcessArguments().allowUnknownOption()
  command.description(verb.help).addHelpText('after', `\nExample:\n  ${prefixWithNpm(example)}\n`)
  pointErrorsAtHelp(command, words)
  return { command, verb }
}

/** Makes commander's option for a flag, and gives `command` the default of a flag without a value: false. */
function makeOption(command: Command, name: string, flag: Flag, nowSeconds: number): Option {
  const parseWord = (word: string) => (flag.parse ? flag.parse(word, nowSeconds) : word)
  const option = new Option([`--${toKebabCase(name)}`, flag.value].filter(Boolean).join(' '), flag.help)
  option.makeOptionMandatory(flag.isRequired ?? false)
  if (flag.conflicts) option.conflicts([...flag.conflicts])
  if (flag.default !== undefined) option.default(parseWord(flag.default), flag.default)
  if (flag.isList) return option.argParser<unknown[] | undefined>((word, values = []) => [...values, parseWord(word)])
  if (flag.value === undefined) {
    // A default of the option itself would be printed by --help.
    command.setOptionValueWithSource(name, false, 'default')
    return option
  }
  if (flag.choices) option.choices(flag.choices)
  // `choices` has set a parser that refuses every other word.
  const parseChoice = option.parseArg
  return option.argParser((word) => {
    // Without this error, commander would use the last of several values of a flag.
    if (command.getOptionValueSource(name) === 'cli')
      command.error(`error: option '${option.flags}' can be given only once`)
    return parseChoice ? parseChoice(word, undefined) : parseWord(word)
  })
}

/**
 * Checks that npm has taken no flag of the verb for itself. In `npm run ops catalog import FILE --dry-run`, without a -- before the
 * command, npm takes the flag, and sets the variable `npm_config_dry_run=true`; `--grace=0` sets `npm_config_grace=0`. A setting in
 * `.npmrc` sets the same variables. @throws UserError when npm has a flag of the verb.
 */
function checkNpmKeptNoFlags(verbs: readonly AddedVerb[], { argv, variables }: CommandContext): void {
  // A noun with only one verb is the verb itself, such as `why`.
  const typedVerb = verbs.length === 1 ? verbs[0] : verbs.find(({ command }) => command.name() === argv[1])
  const keptOptions = (typedVerb?.command.options ?? []).filter((option) => {
    const setting = variables[`npm_config_${option.name().replaceAll('-', '_')}`]
    // `required` is true for a flag that takes a value. npm sets "false" for --no-FLAG.
    const isSet = option.required ? Boolean(setting) && setting !== 'false' : setting === 'true'
    return isSet && !argv.includes(`--${option.name()}`)
  })
  if (keptOptions.length === 0) return
  const names = keptOptions.map((option) => `--${option.name()}`).join(' and ')
  throw new UserError([
    `npm kept ${names} for itself, or has it from .npmrc.`,
    `If you typed ${names}, write -- before the command, or '--' in PowerShell: ${prefixWithNpm('…')}`,
    `If you did not type ${names}, delete the setting from .npmrc. To find this file: npm config list`,
  ])
}

/** @returns the parsed arguments and flags. @throws UserError when an argument is wrong. */
function readValues(command: Command, { args = {}, noArgumentsError }: Verb): Values {
  if (noArgumentsError !== undefined && command.args.length > 0) throw new UserError(noArgumentsError)
  const argumentEntries = Object.entries(args).map(([name, { parse }], index): [string, unknown] => {
    const argument: unknown = command.processedArgs[index]
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- commander gives a list exactly to arguments that are lists
    return [name, parse && argument !== undefined ? parse(argument as never) : argument]
  })
  return { ...command.opts<Values>(), ...Object.fromEntries(argumentEntries) }
}

/** @returns 3 when somebody must act on the output, otherwise 0. @throws the error of the target, the author or the verb. If a verb that may change data changed nothing, its error says so. */
async function runVerb(verb: Verb, values: Values, context: CommandContext & { io: SafeIo }): Promise<ExitCode> {
  const target = readTarget(values)
  const { json = false, yes = false, dryRun = false } = values
  const run = createRun(context, target, { isJson: json, isConfirmed: yes })
  const runAndPrint = async (attribution: Attribution | undefined, store?: Store): Promise<ExitCode> => {
    // The compiler has matched the code with the flags; here, both are known only at run time.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const output = await verb.run(values as never, { ...run, store, attribution } as never)
    if (output) run.print(output)
    if (output?.reasonToAct === undefined) return 0
    context.io.stderr.writePieces([{ style: 'red', text: output.reasonToAct }, '\n'])
    return 3
  }
  // A verb with `passesFlagsOn` starts wrangler, which writes to the terminal by itself.
  if (verb.store !== 'none' && !verb.passesFlagsOn) run.progress?.show('Working')
  try {
    // A dry run changes nothing, so it needs no author.
    const attribution = verb.changes && !dryRun ? await readAttribution(verb, values, target, context) : undefined
    if (verb.store !== undefined) return await runAndPrint(attribution)
    return await run.withStore(target, (store) => runAndPrint(attribution, store))
  } catch (error) {
    const { outcome, isMarked = false } = context.effect
    const mayChange = (verb.changes !== undefined || verb.asks) && !dryRun
    // The mark of a partner in KV counts as a change.
    const isUnchanged = outcome === 'unchanged' && !isMarked
    if (!mayChange || !isUnchanged || !isExpectedError(error)) throw error
    // If the operator answered "no", the error has no message.
    throw new UserError([error.message, nothingChanged].filter(Boolean))
  } finally {
    run.progress?.stop()
  }
}

/** @returns where the verb works: `{}` is the default local state. @throws UserError when a verb with --remote gets only one of --remote and --env. */
function readTarget({ remote, env, persistTo }: Values): Target {
  // A verb without --remote, such as deploy, chooses its environment itself.
  if (remote === undefined) return {}
  if (remote) {
    if (!env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
    return { remote, env }
  }
  if (env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
  return persistTo === undefined ? {} : { persistTo }
}

/** Reads the author and the reason of a change. @throws UserError when a change of a deployed environment has no author, the author or note can't be recorded, or a word is a secret. */
async function readAttribution(
  { listHiddenTexts }: Verb,
  values: Values,
  { remote = false }: Target,
  { argv, findActor }: CommandContext,
): Promise<Attribution> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in runVerb
  const hiddenTexts = (listHiddenTexts?.(values as never) ?? []).filter(Boolean)
  const hideTexts = (input: string) => hiddenTexts.reduce((text, hiddenText) => text.replaceAll(hiddenText, '…'), input)
  // In the record, a command has one line, and a note has one line.
  const command = putOnOneLine(quoteWords(argv.map(hideTexts)))
  const note = values.note === undefined ? null : putOnOneLine(hideTexts(values.note)).trim()
  const actor = values.as ?? (await findActor()) ?? (remote ? undefined : 'local')
  // Checks the whole command line: the record hides a contact, but the database stores the contact, which must not be a secret.
  checkNoSecrets([...argv, actor ?? ''])
  return makeAttribution({ ...(actor !== undefined && { actor }), command, note })
}

/** Makes commander print an error as a sentence, with the command that shows the help. @param words such as `partner list`; '' for `ops`. */
function pointErrorsAtHelp(command: Command, words: string): void {
  const seeAlso = prefixWithNpm(`${words} --help`.trim())
  command.configureOutput({
    outputError: (text, write) => {
      const message = text
        .trim()
        .replace(/^error: /, '')
        .replaceAll(/\s+/g, ' ')
      write(`${message.charAt(0).toUpperCase()}${message.slice(1).replace(/\.$/, '')}.\nSee: ${seeAlso}\n`)
    },
  })
}
