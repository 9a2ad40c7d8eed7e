// Shares one load among the requests of an isolate that want the same value at the same time. The others poll for the
// value instead of awaiting the promise: a promise belongs to its request, and hangs when that request is cancelled.

interface Flight<T> {
  outcome?: { value: T } | { error: unknown }
  /** Unix milliseconds of the last heartbeat of the request that loads the value. */
  aliveAtMs: number
}

const heartbeatMs = 100
/** No heartbeat for this long: assume the request is dead. */
const maxSilenceMs = 500
const firstPauseMs = 2
const maxPauseMs = 32

/** Returns what `load` returns, in this request or in another one with the same key. */
export type ShareFlight<T> = (key: string, load: () => Promise<T>) => Promise<T>

export function createFlights<T>(): ShareFlight<T> {
  const flights = new Map<string, Flight<T>>()

  return async (key, load) => {
    for (let flight = flights.get(key); flight; flight = flights.get(key)) {
      const outcome = await waitForOutcome(flight)
      if (outcome && 'value' in outcome) return outcome.value
      if (outcome) throw outcome.error
      // The loading request is dead. The first waiter takes over; the others wait for its flight.
      if (flights.get(key) === flight) break
    }
    const own: Flight<T> = { aliveAtMs: Date.now() }
    flights.set(key, own)
    const heartbeat = setInterval(() => (own.aliveAtMs = Date.now()), heartbeatMs)
    try {
      const value = await load()
      own.outcome = { value }
      return value
    } catch (error) {
      own.outcome = { error }
      throw error
    } finally {
      clearInterval(heartbeat)
      if (flights.get(key) === own) flights.delete(key)
    }
  }
}

async function waitForOutcome<T>(flight: Flight<T>): Promise<Flight<T>['outcome']> {
  let pauseMs = firstPauseMs
  while (flight.outcome === undefined && Date.now() - flight.aliveAtMs < maxSilenceMs) {
    const thisPauseMs = pauseMs
    await new Promise((resolve) => setTimeout(resolve, thisPauseMs))
    pauseMs = Math.min(2 * pauseMs, maxPauseMs)
  }
  return flight.outcome
}
