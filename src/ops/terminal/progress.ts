import type { Io } from './io.ts'

const barWidth = 30

/**
 * Shows on stderr how far a step is, once the work takes longer than `patienceMs`: on a terminal a bar that moves,
 * otherwise one line per step.
 */
export function createProgress({ stderr, patienceMs = 1000 }: Pick<Io, 'stderr' | 'patienceMs'>) {
  let isShown = false
  let latest = { step: '', percent: 0 }
  let drawn: typeof latest | undefined
  // For a step that waits. A step that blocks this thread is shown at its next update.
  const timer = Number.isFinite(patienceMs) ? setTimeout(show, patienceMs).unref() : undefined
  const startMs = performance.now()

  function show(): void {
    isShown = true
    const { step, percent } = latest
    if (step === '' || (drawn?.step === step && drawn.percent === percent)) return
    const bar = '#'.repeat(Math.floor((percent * barWidth) / 100)).padEnd(barWidth, '.')
    if (stderr.isTTY) stderr.write(`\r${step} [${bar}] ${percent} %\u001b[K`)
    else if (drawn?.step !== step) stderr.write(`${step} …\n`)
    drawn = latest
  }

  return {
    update: (step: string, done: number, total: number): void => {
      latest = { step, percent: total === 0 ? 100 : Math.floor((100 * done) / total) }
      if (isShown || performance.now() - startMs >= patienceMs) show()
    },
    /** Removes the bar. */
    end: (): void => {
      clearTimeout(timer)
      if (drawn && stderr.isTTY) stderr.write('\r\u001b[K')
      drawn = undefined
      latest = { step: '', percent: 0 }
    },
  }
}

export type Progress = ReturnType<typeof createProgress>
