// The run of a verb prints and asks.
import { withProgress } from '../../store/store.ts'
import { describePlace, type Target } from '../../shared/target.ts'
import { confirm } from '../../terminal/confirm.ts'
import { paintLines } from '../../terminal/colors.ts'
import type { Piece, SafeIo } from '../../terminal/io.ts'
import { formatFields, formatTable } from '../../terminal/table.ts'
import type { CommandContext } from './command-context.ts'

export interface Output {
  /** Printed with --json. People get rows as a table, and an object as a line for each field, */
  data?: unknown
  /** unless people get other lines, or other rows. */
  text?: string | readonly object[]
  /** For people, on stderr. */
  note?: string | undefined
  /** A sentence for the user if the output can't be written. */
  ifUnseen?: string
  /** Somebody must act: printed on stderr, with exit code 3. */
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
  /** Prints before the command has ended, such as a secret that must not be lost. */
  print: (output: Omit<Output, 'findings'>) => void
  /**
   * Asks before a change of a deployed environment, unless --yes was given.
   * @param place the target of the verb by default.
   * @throws UserError when the answer is not yes, or nobody can be asked.
   */
  confirm: (effect: string, place?: Target) => Promise<void>
}

interface RunOptions {
  isJson: boolean
  /** Whether --yes was given. */
  isConfirmed: boolean
  /** Whether the output reports a change: then it says where. */
  isChange: boolean
}

export function createRun(
  context: CommandContext & { io: SafeIo },
  target: Target,
  { isJson, isConfirmed, isChange }: RunOptions,
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
          return await work(progress ? withProgress(store, progress.show) : store)
        } finally {
          Object.assign(context.effect, store.changes)
        }
      }),
    report: (...lines) => isJson || stdout.writePieces(toLines(lines)),
    reportAsked: (...lines) => {
      if (!isJson) stdout.writePieces(toLines(lines))
      else if (isAsking(target)) stderr.writePieces(toLines(lines))
    },
    warn: (...lines) => stderr.writePieces(toLines(lines)),
    print: ({ data, text, note, ifUnseen }) => {
      context.effect.fix = ifUnseen
      if (isJson) return void stdout.write(`${JSON.stringify(data)}\n`)
      const isSentence = typeof text === 'string' && text.indexOf('\n') === text.length - 1
      const place = isChange ? `${describePlace(target)} ` : ''
      stdout.writePieces(isSentence ? [`${place}${text}`] : formatText(text ?? data, stdout.columns || Infinity))
      const said = isChange && !isSentence ? `${place}${note ?? 'Done.'}` : note
      if (said !== undefined) stderr.write(`${said}\n`)
    },
    confirm: async (effect, place = target) => {
      if (!isAsking(place)) return
      progress?.stop()
      await confirm(context.io, place, effect)
      progress?.show('Working')
    },
  }
}

function toLines(lines: readonly string[]): Piece[] {
  return paintLines(lines.map((line) => `${line}\n`).join(''))
}

function formatText(content: unknown, columns: number): Piece[] {
  if (typeof content === 'string') return paintLines(content)
  if (Array.isArray(content)) return formatTable(content, columns)
  return typeof content === 'object' && content !== null ? [formatFields(content)] : []
}
