// Which of D1 and KV fail now, how, and for whom.
import type { Random } from './random.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** `some` fails one query in three. `primary` fails only what needs the primary database. */
type OutageKind = 'errors' | 'hangs' | 'some' | 'primary'
type Health = 'up' | 'error' | 'hang'

interface Outage {
  store: 'd1' | 'kv'
  kind: OutageKind
  /** Undefined: everywhere. */
  city: number | undefined
}

export type Outages = ReturnType<typeof createOutages>

export function createOutages(clock: VirtualClock, random: Random, cities: number, meanMs: number) {
  const active = new Set<Outage>()

  function check(store: Outage['store'], city: number, from: 'replica' | 'primary'): Health {
    for (const outage of active) {
      if (outage.store !== store || (outage.city !== undefined && outage.city !== city)) continue
      if (outage.kind === 'hangs') return 'hang'
      if (outage.kind === 'errors') return 'error'
      if (outage.kind === 'primary' && from === 'primary') return 'error'
      if (outage.kind === 'some' && random.chance(1 / 3)) return random.chance(0.3) ? 'hang' : 'error'
    }
    return 'up'
  }

  function begin(outage: Outage, durationMs: number): void {
    active.add(outage)
    clock.at(clock.now() + durationMs, () => active.delete(outage))
  }

  function startOne(store: Outage['store'], durationMs: number): void {
    const kinds: OutageKind[] = store === 'd1' ? ['errors', 'hangs', 'some', 'primary'] : ['errors', 'hangs', 'some']
    const city = random.chance(0.3) ? random.integer(cities) : undefined
    begin({ store, kind: random.pick(kinds), city }, durationMs)
  }

  return {
    /** Every call of a store fails for a time. */
    failEverywhere: (store: Outage['store'], durationMs: number) =>
      begin({ store, kind: 'errors', city: undefined }, durationMs),
    d1: (city: number, from: 'replica' | 'primary') => check('d1', city, from),
    kv: (city: number) => check('kv', city, 'replica'),
    /** Whether an operator can write and partners can get tokens. */
    isPrimaryUp: () =>
      ![...active].some(({ store, kind, city }) => store === 'd1' && kind !== 'some' && city === undefined),
    /** Starts an outage of D1, of KV or of both, and ends it some time later. */
    start: () => {
      // Most outages are short. A few last longer than any copy may be used.
      const durationMs = random.exponential(random.chance(0.05) ? 60 * meanMs : meanMs)
      const store = random.pick(['d1', 'd1', 'kv', 'both'] as const)
      if (store !== 'kv') startOne('d1', durationMs)
      if (store !== 'd1') startOne('kv', durationMs)
    },
  }
}
