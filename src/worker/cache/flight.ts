// One request of an isolate gets a value, the others that want it at the same time wait for that. They share the value
// once it is there and never the promise: a promise belongs to its request, and hangs whoever awaits it when that ends.

interface Flight<T> {
  outcome?: { value: T } | { error: unknown }
  /** Unix milliseconds. The request that gets the value says again and again that it is still there. */
  aliveAtMs: number
}

const beatMs = 100
/** A request that was silent for so long has ended; one that is slow has not. */
const patienceMs = 500
const firstPauseMs = 2
const longestPauseMs = 32

export type Flights<T> = Map<string, Flight<T>>

/** Gives what `get` gives, of this request or of another one of the same key. */
export async function shareFlight<T>(flights: Flights<T>, key: string, get: () => Promise<T>): Promise<T> {
  for (let flight = flights.get(key); flight; flight = flights.get(key)) {
    const outcome = await waitFor(flight)
    if (outcome && 'value' in outcome) return outcome.value
    if (outcome) throw outcome.error
    // Of those who waited for one that has ended the first takes its place; the others wait for that one.
    if (flights.get(key) === flight) break
  }
  const own: Flight<T> = { aliveAtMs: Date.now() }
  flights.set(key, own)
  const heart = setInterval(() => (own.aliveAtMs = Date.now()), beatMs)
  try {
    const value = await get()
    own.outcome = { value }
    return value
  } catch (error) {
    own.outcome = { error }
    throw error
  } finally {
    clearInterval(heart)
    if (flights.get(key) === own) flights.delete(key)
  }
}

/** Looks again and again: a timer of this request is all it may await. */
async function waitFor<T>(flight: Flight<T>): Promise<Flight<T>['outcome']> {
  let pauseMs = firstPauseMs
  while (flight.outcome === undefined && Date.now() - flight.aliveAtMs < patienceMs) {
    const thisPauseMs = pauseMs
    await new Promise((resolve) => setTimeout(resolve, thisPauseMs))
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
  }
  return flight.outcome
}
