// What an isolate still holds of what its stores gave it, with the help of the garbage collector.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { CacheContext } from '../../src/worker/cache/cache-context.ts'
import type { SimulatedIsolate } from './simulated-isolate.ts'

/** The work of a cancelled request is held until the isolate's next request. */
const sparePartners = 2
const spareBytes = 4000

type OpenSession = CacheContext['openSession']
type CopyStore = NonNullable<CacheContext['kv']>

export function createMemoryWatch() {
  const watched = new Map<SimulatedIsolate, { lists: Set<WeakRef<ArrayBufferLike>>; partners: Set<WeakRef<object>> }>()

  function collectGarbage(): void {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
  }

  return {
    watch: (isolate: SimulatedIsolate) => watched.set(isolate, { lists: new Set(), partners: new Set() }),
    isWatched: (isolate: SimulatedIsolate) => watched.has(isolate),
    wrap: (isolate: SimulatedIsolate, openSession: OpenSession): OpenSession => {
      const { lists, partners } = watched.get(isolate)!
      return (from) => {
        const session = openSession(from)
        return {
          checkPartner: async (clientId) => {
            const check = await session.checkPartner(clientId)
            if (check.partner) partners.add(new WeakRef(check.partner))
            return check
          },
          loadList: async (country, filter) => {
            const list = await session.loadList(country, filter)
            // A buffer of its own, because small ones can share one.
            const body = new Uint8Array(list.body)
            lists.add(new WeakRef(body.buffer))
            return { ...list, body }
          },
        }
      }
    },
    wrapKv: (isolate: SimulatedIsolate, store: CopyStore): CopyStore => {
      const { lists } = watched.get(isolate)!
      const read = store.getWithMetadata.bind(store) as (
        key: string,
        type: string,
      ) => Promise<{ value: ArrayBuffer | null }>
      const getWithMetadata = async (key: string, type: string) => {
        const found = await read(key, type)
        if (found.value && key.startsWith('plans:')) lists.add(new WeakRef(found.value))
        return found
      }
      return { getWithMetadata, put: store.put.bind(store) } as unknown as CopyStore
    },
    /** Returns what exceeds its bounds, in isolates without work since `quietSinceMs`. */
    check: (quietSinceMs: number): string[] => {
      if (watched.size === 0) return []
      collectGarbage()
      const problems: string[] = []
      for (const [isolate, { lists, partners }] of watched) {
        if (isolate.isDead) watched.delete(isolate)
        if (isolate.isDead || isolate.lastUsedMs > quietSinceMs) continue
        const heldLists = keepLive(lists)
        const heldBytes = heldLists.reduce((sum, list) => sum + list.byteLength, 0)
        const heldPartners = keepLive(partners).length
        if (heldBytes > isolate.maxListBytes + spareBytes)
          problems.push(`isolate ${isolate.id} holds ${heldBytes} bytes of lists`)
        if (heldPartners > isolate.maxPartners + sparePartners)
          problems.push(`isolate ${isolate.id} holds ${heldPartners} partners`)
      }
      return problems
    },
  }
}

function keepLive<T extends WeakKey>(references: Set<WeakRef<T>>): T[] {
  const live: T[] = []
  for (const reference of references) {
    const target = reference.deref()
    if (target === undefined) references.delete(reference)
    else live.push(target)
  }
  return live
}
