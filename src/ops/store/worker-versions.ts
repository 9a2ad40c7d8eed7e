// The versions of a Worker that answer requests. After a rollback, or during a gradual deploy, they are not the latest.
import { readPath } from '../../json.ts'
import type { Call } from './cloudflare-api.ts'
import { CloudflareError } from './failure.ts'

/** A version that gets a share of the requests. */
export interface LiveVersion {
  versionId: string
  percentage: number
}

interface Binding {
  name: string
  type: string
}

/** @returns nothing before the first deploy. */
export function listLiveVersions(call: Call, worker: string): Promise<(LiveVersion & { bindings: Binding[] })[]> {
  const script = `/workers/scripts/${worker}`
  return unlessNoWorker(async () => {
    const versions = readList(await call('GET', `${script}/deployments`), 'deployments', 0, 'versions')
    return Promise.all(
      versions.map(async (version) => {
        const versionId = String(readPath(version, 'version_id'))
        const bindings = readList(await call('GET', `${script}/versions/${versionId}`), 'resources', 'bindings')
        return {
          versionId,
          percentage: Number(readPath(version, 'percentage')),
          bindings: bindings.map((one) => ({
            name: String(readPath(one, 'name')),
            type: String(readPath(one, 'type')),
          })),
        }
      }),
    )
  })
}

/** @returns nothing while there is no Worker of the name. */
export async function unlessNoWorker<T>(list: () => Promise<T[]>): Promise<T[]> {
  try {
    return await list()
  } catch (error) {
    if (error instanceof CloudflareError && error.codes.some((code) => workerNotFoundCodes.has(code))) return []
    throw error
  }
}

/** From wrangler's sources. */
const workerNotFoundCodes = new Set<unknown>([10007, 10090])

function readList(answer: unknown, ...path: (string | number)[]): unknown[] {
  const list = readPath(answer, ...path)
  return Array.isArray(list) ? list : []
}
