// Makes the second argument of a verb's `run`: the context, with functions that print and ask.
import type { Target } from '../../shared/target.ts'
import { confirm } from '../../terminal/confirm.ts'
import { paintLines } from '../../terminal/colors.ts'
import type { Piece, SafeIo } from '../../terminal/io.ts'
import { formatFields, formatTable } from '../../terminal/table.ts'
import type { CommandContext } from './command-context.ts'

export interface Output {
  /** Printed as JSON with --json. Without --json, `data` is printed only if there is no `text`: as a table, or as a line for each field. */
  data?: unknown
  /** Printed without --json, in place of `data`: lines, or the rows of a table. */
  text?: string | readonly object[]
  /** A sentence, printed on stderr without --json. */
  note?: string | undefined
  /** Printed if the output can't be written: says how to replace what only the output had, such as a new secret. */
  ifOutputFails?: string
  /** A sentence about problems on which somebody must act. The sentence is printed on stderr, and the exit code is 3. */
  reasonToAct?: string | undefined
}

export interface Run extends CommandContext {
  io: SafeIo
  target: Target
  /** Prints lines on stdout; with --json, prints nothing. */
  report: (...lines: string[]) => void
  /** Prints lines that describe a change, before `confirm` asks. With --json, prints on stderr, and only if a question will follow. */
  reportBeforeQuestion: (...lines: string[]) => void
  /** Prints lines on stderr. */
  warn: (...lines: string[]) => void
  /** Prints an output before the verb ends, such as a new secret, which must not be lost if the rest of the work fails. */
  print: (output: Omit<Output, 'reasonToAct'>) => void
  /**
   * Asks before a change of a deployed environment, unless --yes was given.
   * @param effect a sentence that says what will change.
   * @param place where it will change; by default, the target of the verb.
   * @throws UserError when the answer is not yes, or there is no terminal.
   */
  confirm: (effect: string, place?: Target) => Promise<void>
}

export function createRun(
  context: CommandContext & { io: SafeIo },
  target: Target,
  { isJson, isConfirmed }: { isJson: boolean; isConfirmed: boolean },
): Run {
  const { stdout, stderr } = context.io
  const willAsk = (place: Target) => place.remote && !isConfirmed
  const progress = isJson ? undefined : context.progress
  return {
    ...context,
    progress,
    target,
    withStore: (place, work) =>
      context.withStore(place, async (store) => {
        try {
          store.db.reportProgress = progress?.show
          return await work(store)
        } finally {
          // runVerb and runProgram read `effect`, to say after an error whether something was changed.
          Object.assign(context.effect, store.changes)
        }
      }),
    report: (...lines) => isJson || stdout.writePieces(joinAndPaint(lines)),
    reportBeforeQuestion: (...lines) => {
      if (!isJson) stdout.writePieces(joinAndPaint(lines))
      else if (willAsk(target)) stderr.writePieces(joinAndPaint(lines))
    },
    warn: (...lines) => stderr.writePieces(joinAndPaint(lines)),
    print: ({ data, text, note, ifOutputFails }) => {
      context.effect.ifOutputFails = ifOutputFails
      if (isJson) return void stdout.write(`${JSON.stringify(data)}\n`)
      stdout.writePieces(paintLines(formatContent(text ?? data, stdout.columns || Infinity)))
      if (note !== undefined) stderr.write(`${note}\n`)
    },
    confirm: async (effect, place = target) => {
      if (!willAsk(place)) return
      progress?.stop()
      await confirm(context.io, place, effect)
      progress?.show('Working')
    },
  }
}

function joinAndPaint(lines: readonly string[]): Piece[] {
  return paintLines(lines.map((line) => `${line}\n`).join(''))
}

function formatContent(content: unknown, columns: number): string {
  if (typeof content === 'string') return content
  if (Array.isArray(content)) return formatTable(content, columns)
  return typeof content === 'object' && content !== null ? formatFields(content) : ''
}
