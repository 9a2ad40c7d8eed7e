import type { Io } from './io.ts'

const patienceMs = 1000
const barWidth = 30

/**
 * Shows on stderr how far a step is, once the work takes more than a second: a bar that moves on a terminal, elsewhere a
 * line per step.
 */
export function createProgress({ stderr }: Io, nowMs = () => performance.now()) {
  const startMs = nowMs()
  let shown: { step: string; percent: number } | undefined
  return {
    update(step: string, done: number, total: number): void {
      const percent = total === 0 ? 100 : Math.floor((100 * done) / total)
      if (nowMs() - startMs < patienceMs || (shown?.step === step && shown.percent === percent)) return
      const bar = '#'.repeat(Math.floor((percent * barWidth) / 100)).padEnd(barWidth, '.')
      if (stderr.isTTY) stderr.write(`\r${step} [${bar}] ${percent} %\u001b[K`)
      else if (shown?.step !== step) stderr.write(`${step} …\n`)
      shown = { step, percent }
    },
    /** Takes the bar away. */
    end(): void {
      if (shown && stderr.isTTY) stderr.write('\r\u001b[K')
      shown = undefined
    },
  }
}

export type Progress = ReturnType<typeof createProgress>
