// One request of an isolate gets a value, the others that want it at the same time wait for that. They share the value
// once it is there and never the promise: a promise belongs to its request, and hangs whoever awaits it when that ends.

interface Flight<T> {
  outcome?: { value: T } | { error: unknown }
}

/** Whoever has waited for so long goes for it, too: the request before may have ended. */
const patienceMs = 500
const firstPauseMs = 2
const longestPauseMs = 32

export type Flights<T> = Map<string, Flight<T>>

/** Gives what `get` gives, of this request or of another one of the same key. */
export async function shareFlight<T>(flights: Flights<T>, key: string, get: () => Promise<T>): Promise<T> {
  const flight = flights.get(key)
  if (flight) {
    const outcome = await waitFor(flight)
    if (outcome && 'value' in outcome) return outcome.value
    if (outcome) throw outcome.error
    // By now another of those who waited may be on its way.
    if (flights.get(key) !== flight) return shareFlight(flights, key, get)
  }
  const own: Flight<T> = {}
  flights.set(key, own)
  try {
    const value = await get()
    own.outcome = { value }
    return value
  } catch (error) {
    own.outcome = { error }
    throw error
  } finally {
    if (flights.get(key) === own) flights.delete(key)
  }
}

/** Looks again and again: a timer of this request is all it may await. */
async function waitFor<T>(flight: Flight<T>): Promise<Flight<T>['outcome']> {
  let pauseMs = firstPauseMs
  for (let waitedMs = 0; waitedMs < patienceMs && flight.outcome === undefined; waitedMs += pauseMs) {
    pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return flight.outcome
}
