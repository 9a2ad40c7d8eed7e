// What a command gets besides its input. Printing, questions and progress keep out of each other's way here.
import type { Target } from '../shared/target.ts'
import { confirm, type Question } from '../terminal/confirm.ts'
import { createProgress, type Progress } from '../terminal/progress.ts'
import { formatTable } from '../terminal/table.ts'
import type { CommandContext } from './command-context.ts'

/** What a command prints: `value` with --json, otherwise `text`, and `note` for people on stderr. */
export interface Output {
  value: unknown
  /** Lines, or the rows of a table. */
  text: string | readonly Record<string, string>[]
  note?: string | undefined
}

export interface Run extends CommandContext {
  target: Target
  /** Shows a step on stderr, once the command takes long. */
  update: Progress['update']
  /** Prints lines on stdout. */
  report: (...lines: string[]) => void
  /** Prints lines on stderr. */
  warn: (...lines: string[]) => void
  print: (output: Output) => void
  /** Whether --yes was given. */
  isSure: boolean
  /**
   * Asks before a change that can't be undone, unless --yes was given.
   * @throws UserError when the answer is not yes, or nobody can be asked.
   */
  confirm: (effect: string, options?: Pick<Question, 'isLocal'>) => Promise<void>
  /** Ends the progress, for output of another program. */
  end: () => void
}

interface RunFlags {
  isJson: boolean
  /** --yes. */
  isSure: boolean
}

export function createRun(
  context: CommandContext,
  target: Target,
  { isJson, isSure }: RunFlags,
  firstStep: string | undefined,
): Run {
  const { io } = context
  const progress = createProgress(io)
  if (firstStep !== undefined) progress.update(firstStep, 0, 1)

  function write(stream: { write(text: string): unknown }, lines: readonly string[]): void {
    progress.end()
    for (const line of lines) stream.write(`${line}\n`)
  }

  return {
    ...context,
    target,
    isSure,
    update: progress.update,
    report: (...lines) => write(io.stdout, lines),
    warn: (...lines) => write(io.stderr, lines),
    print: ({ value, text, note }) => {
      progress.end()
      if (isJson) return void io.stdout.write(`${JSON.stringify(value)}\n`)
      io.stdout.write(typeof text === 'string' ? text : formatTable(text, io.stdout.columns))
      if (note !== undefined) io.stderr.write(`${note}\n`)
    },
    confirm: (effect, options = {}) => {
      progress.end()
      return confirm(io, target, effect, { isSure, ...options })
    },
    end: progress.end,
  }
}
