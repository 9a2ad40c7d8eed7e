// Ctrl+C: says what a command leaves behind.
import { describeOutcome, type Changes } from './store/outcome.ts'

/**
 * A change that was sent gets its answer, which may come with a secret, unless Ctrl+C is pressed again.
 * @returns a function that ends the watch.
 */
export function watchInterruption(changes: Changes): () => void {
  let isWaiting = false
  const stop = () => {
    if (changes.outcome === 'unknown' && !isWaiting) {
      isWaiting = true
      process.stderr.write('\nA change was sent: waiting for its outcome. Ctrl+C again stops at once.\n')
      return
    }
    process.stderr.write(`\nStopped. ${describeOutcome(changes)}\n`)
    process.exit(130)
  }
  process.on('SIGINT', stop)
  return () => process.off('SIGINT', stop)
}
