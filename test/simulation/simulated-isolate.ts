// The life of isolates and requests: what happens to the timers and the I/O of a request that is cancelled, and of an isolate
// that is frozen or dead.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { OpenCatalog, OpenSignIn } from '../../src/worker/cache/catalog-cache.ts'
import type { WeighLine } from '../../src/worker/http/line-weight.ts'
import type { VerifiedSecrets } from '../../src/worker/token/verified-secrets.ts'
import { installSimulatedCrypto } from './simulated-crypto.ts'
import type { ScheduledEvent, VirtualClock } from './virtual-clock.ts'

export interface SimulatedIsolate {
  id: number
  city: number
  /** Clocks differ: added to the true time. */
  clockErrorMs: number
  openCatalog: OpenCatalog
  openSignIn: OpenSignIn
  verifiedSecrets: VerifiedSecrets
  weighLine: WeighLine
  /** True time. */
  clockSteppedAtMs: number
  /** After the clock stepped back, what was idle since before seems younger than it is: until when, in true time, and by how much. */
  misleadingClock: { untilMs: number; byMs: number }
  /** The last answers of D1 about each client, and the order in which they were asked for. */
  answers: Map<string, { access: string; order: number; atMs: number; isSignIn: boolean }[]>
  maxListBytes: number
  maxPartners: number
  /** The isolate ends when it was idle for longer. */
  maxIdleMs: number
  lastUsedMs: number
  /** In the past unless the isolate is frozen. */
  frozenUntilMs: number
  isDead: boolean
  /** True time until which a call of KV that failed may still be waited for. Requests of an isolate share their calls. */
  kvFailsUntilMs: number
  /** True time at which this isolate last learned that D1 fails. */
  d1FailedAtMs: number
}

export interface SimulatedRequest {
  isolate: SimulatedIsolate
  /** True time. */
  arrivedAtMs: number
  isSignIn: boolean
  /** The client hung up: nothing of this request runs any more, and its promises never settle. */
  isCancelled: boolean
  /** The longest chain of round trips so far, each of which began after the one before had ended. */
  trips: number
}

export interface Lifetimes {
  /** Runs `action` at a time on behalf of a request, unless the request or its isolate has ended by then. */
  deliver: (request: SimulatedRequest, timeMs: number, action: () => void) => ScheduledEvent
  /** Runs `work` so that the timers it starts belong to the request. */
  run: (request: SimulatedRequest, work: () => void) => void
  /** Replaces timers and crypto.subtle of this process. Returns a function that restores them. */
  install: () => () => void
}

export function createLifetimes(clock: VirtualClock): Lifetimes {
  const owners = new AsyncLocalStorage<SimulatedRequest>()

  function deliver(request: SimulatedRequest, timeMs: number, action: () => void): ScheduledEvent {
    let event = clock.at(timeMs, attempt)
    function attempt(): void {
      const { isolate, isCancelled } = request
      if (isCancelled || isolate.isDead) return
      if (isolate.frozenUntilMs > clock.now()) event = clock.at(isolate.frozenUntilMs, attempt)
      else action()
    }
    return { cancel: () => event.cancel() }
  }

  function startTimer(action: () => void, ms = 0): ScheduledEvent {
    const owner = owners.getStore()
    const timeMs = clock.now() + ms
    return owner === undefined ? clock.at(timeMs, action) : deliver(owner, timeMs, action)
  }

  return {
    deliver,
    run: (request, work) => owners.run(request, work),
    install: () => {
      const { setTimeout: realSetTimeout, clearTimeout: realClearTimeout } = globalThis
      globalThis.setTimeout = startTimer as unknown as typeof setTimeout
      globalThis.clearTimeout = ((event?: ScheduledEvent) => event?.cancel()) as typeof clearTimeout
      const restoreCrypto = installSimulatedCrypto()
      return () => {
        Object.assign(globalThis, { setTimeout: realSetTimeout, clearTimeout: realClearTimeout })
        restoreCrypto()
      }
    },
  }
}
