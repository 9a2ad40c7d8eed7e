// Shows on a terminal what a command is doing, and for how long it has worked.
import type { Writable } from 'node:stream'
import yoctoSpinner from 'yocto-spinner'

/** The time before the line appears, and between its updates. Shorter work shows nothing. */
const tickMs = 1000

export type Progress = ReturnType<typeof createProgress>

/** Shows a line such as `Reading plans: 300 of 900 (3 s)`. The spinner clears the line before anything else is written to the terminal. */
export function createProgress(stream: Writable) {
  const spinner = yoctoSpinner({ stream })
  const startMs = performance.now()
  let timer: NodeJS.Timeout | undefined
  let activity = ''
  const describeTime = () => formatMs(performance.now() - startMs)
  const describeWork = () => `${activity} (${describeTime()})`
  const tick = () => {
    if (spinner.isSpinning) spinner.text = describeWork()
    else spinner.start(describeWork())
  }
  const stop = () => {
    clearInterval(timer)
    timer = undefined
    spinner.stop()
  }
  return {
    /** Clears the line: at the end of the command, and before a question. */
    stop,
    /** Shows what the command is doing. @param text a text such as `Reading plans: 300 of 900`: nothing that a user or a file wrote. */
    show: (text: string) => {
      activity = text
      timer ??= setInterval(tick, tickMs)
      if (spinner.isSpinning) spinner.text = describeWork()
    },
    /** Clears the line of the spinner, and prints a line that stays, because another program will now write to the terminal. */
    step: (text: string) => {
      stop()
      stream.write(`${text} (after ${describeTime()})\n`)
    },
  }
}

/** `2 min 5 s` */
function formatMs(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  return `${minutes > 0 ? `${minutes} min ` : ''}${seconds % 60} s`
}
