// Says on a terminal what a command is doing, and for how long it has worked.
import type { Writable } from 'node:stream'
import yoctoSpinner from 'yocto-spinner'

/** How often the time is shown again. Work of less than a second shows nothing. */
const tickMs = 1000

export type Progress = ReturnType<typeof createProgress>

/** The spinner clears its line before anything else is written to the terminal. */
export function createProgress(stream: Writable) {
  const spinner = yoctoSpinner({ stream })
  const startMs = performance.now()
  let timer: NodeJS.Timeout | undefined
  let [doing, workedMs, resumedMs] = ['', 0, 0]
  /** The time of questions does not count. */
  const measureMs = () => workedMs + (timer === undefined ? 0 : performance.now() - resumedMs)
  const describeWork = () => `${doing} (${formatMs(measureMs())})`
  const tick = () => {
    if (spinner.isSpinning) spinner.text = describeWork()
    else spinner.start(describeWork())
  }
  const stop = () => {
    workedMs = measureMs()
    clearInterval(timer)
    timer = undefined
    spinner.stop()
  }
  return {
    /** Clears the line, at the end and before a question. */
    stop,
    /** Shows what the command is doing. @param text a text such as `Reading plans: 300 of 900`: nothing that a user or a file wrote. */
    show: (text: string) => {
      doing = text
      if (timer === undefined) {
        resumedMs = performance.now()
        timer = setInterval(tick, tickMs)
      }
      if (spinner.isSpinning) spinner.text = describeWork()
    },
    /** Prints a line before another program writes to the terminal. */
    step: (text: string) => {
      stop()
      stream.write(`${text} (after ${formatMs(performance.now() - startMs)})\n`)
    },
  }
}

function formatMs(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return `${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s`
}
