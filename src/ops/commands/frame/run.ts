// The `run` of a verb, such as `plan close`, gets a `Run` besides its input: the context, and functions that print and ask.
import type { Target } from '../../shared/target.ts'
import { confirm } from '../../terminal/confirm.ts'
import { paintLines } from '../../terminal/colors.ts'
import type { Piece, SafeIo } from '../../terminal/io.ts'
import { formatFields, formatTable } from '../../terminal/table.ts'
import type { CommandContext } from './command-context.ts'

export interface Output {
  /** What --json prints. Without `text`, people get `data`, too: rows as a table, an object as a line for each field. */
  data?: unknown
  /** What people get in place of `data`: lines, or the rows of a table. */
  text?: string | readonly object[]
  /** A sentence for people, on stderr. */
  note?: string | undefined
  /** The sentence to print if the output can't be written, such as that the secret is lost. */
  ifOutputFails?: string
  /** Says that somebody must act: printed on stderr, with exit code 3. */
  findings?: string | undefined
}

export interface Run extends CommandContext {
  io: SafeIo
  target: Target
  /** Prints lines for people on stdout: nothing with --json. */
  report: (...lines: string[]) => void
  /** Reports a change that `confirm` asks about: with --json on stderr, if there will be a question. */
  reportAsked: (...lines: string[]) => void
  /** Prints lines on stderr. */
  warn: (...lines: string[]) => void
  /** Prints an output while the command still runs, such as a secret that must not be lost if the rest fails. */
  print: (output: Omit<Output, 'findings'>) => void
  /**
   * Asks before a change of a deployed environment, unless --yes was given.
   * @param effect a sentence: what will change.
   * @param place the target of the verb by default.
   * @throws UserError when the answer is not yes, or there is no terminal.
   */
  confirm: (effect: string, place?: Target) => Promise<void>
}

interface RunOptions {
  isJson: boolean
  /** Whether --yes was given. */
  isConfirmed: boolean
}

export function createRun(
  context: CommandContext & { io: SafeIo },
  target: Target,
  { isJson, isConfirmed }: RunOptions,
): Run {
  const { stdout, stderr } = context.io
  const isAsking = (place: Target) => place.remote && !isConfirmed
  const progress = isJson ? undefined : context.progress
  return {
    ...context,
    progress,
    target,
    withStore: (place, work) =>
      context.withStore(place, async (store) => {
        try {
          store.db.hear = progress?.show
          return await work(store)
        } finally {
          Object.assign(context.effect, store.changes)
        }
      }),
    report: (...lines) => isJson || stdout.writePieces(joinAndPaint(lines)),
    reportAsked: (...lines) => {
      if (!isJson) stdout.writePieces(joinAndPaint(lines))
      else if (isAsking(target)) stderr.writePieces(joinAndPaint(lines))
    },
    warn: (...lines) => stderr.writePieces(joinAndPaint(lines)),
    print: ({ data, text, note, ifOutputFails }) => {
      context.effect.ifOutputFails = ifOutputFails
      if (isJson) return void stdout.write(`${JSON.stringify(data)}\n`)
      stdout.writePieces(paintLines(formatText(text ?? data, stdout.columns || Infinity)))
      if (note !== undefined) stderr.write(`${note}\n`)
    },
    confirm: async (effect, place = target) => {
      if (!isAsking(place)) return
      progress?.stop()
      await confirm(context.io, place, effect)
      progress?.show('Working')
    },
  }
}

function joinAndPaint(lines: readonly string[]): Piece[] {
  return paintLines(lines.map((line) => `${line}\n`).join(''))
}

/** @param columns the width of the terminal. */
function formatText(content: unknown, columns: number): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return formatTable(content, columns)
  return typeof content === 'object' && content !== null ? formatFields(content) : ''
}
