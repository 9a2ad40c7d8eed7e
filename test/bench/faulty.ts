// The Worker as deployed, with stores that fail on command and with signing secrets that change as in a deployment: for a
// while, some requests get the old secrets and some the new ones.
import {
  d1Faults,
  garbleValue,
  hang,
  interceptD1,
  interceptKv,
  kvDown,
  pass,
  takeMs,
  truncateValue,
  type Fault,
} from '../support/unreliable-stores.ts'
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

const d1FaultsOrSlow = { ...d1Faults, slow: takeMs(3000) }
const both = (fault: Fault) => ({ read: fault, write: fault })
const kvFaults = {
  fine: both(pass),
  error: both(kvDown),
  hang: both(hang),
  garbage: { read: garbleValue, write: pass },
  truncated: { read: truncateValue, write: pass },
}

export interface Conditions {
  d1: keyof typeof d1FaultsOrSlow
  kv: keyof typeof kvFaults
  /** The signing secrets of each live version. */
  versions: Record<string, string>[]
  /** Added to the clock. */
  clockMs?: number
}

interface Bindings {
  DB: D1Database
  CATALOG_CACHE: KVNamespace
}

let conditions: Conditions = { d1: 'fine', kv: 'fine', versions: [] }
let live: object[] = []
/** Since the conditions changed. */
let d1Queries = 0

const realNow = Date.now.bind(Date)
Date.now = () => realNow() + (conditions.clockMs ?? 0)

export default {
  async fetch(request, env, context) {
    if (request.method === 'PUT') {
      const next: Conditions = await request.json()
      // An unchanged version keeps its env, because the Worker imports the keys once for each env.
      if (JSON.stringify(next.versions) !== JSON.stringify(conditions.versions)) {
        live = next.versions.map((secrets) => ({ ...env, ...makeFaulty(env), ...secrets }))
      }
      conditions = next
      const counted = d1Queries
      d1Queries = 0
      return Response.json({ d1Queries: counted })
    }
    return app.fetch(request, live[Math.floor(Math.random() * live.length)], context)
  },
} satisfies ExportedHandler<Bindings>

function makeFaulty({ DB, CATALOG_CACHE }: Bindings): Bindings {
  return {
    DB: interceptD1(DB, (call) => {
      d1Queries++
      return d1FaultsOrSlow[conditions.d1](call)
    }),
    CATALOG_CACHE: interceptKv(CATALOG_CACHE, {
      read: (call) => kvFaults[conditions.kv].read(call),
      write: (call) => kvFaults[conditions.kv].write(call),
    }),
  }
}
