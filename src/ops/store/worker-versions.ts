// Finds the versions of a Worker that answer requests. After a rollback, or during a gradual deploy, these are not only the latest.
import { readPath } from '../../json.ts'
import type { CloudflareCall } from './cloudflare-api.ts'
import { CloudflareError } from './failure.ts'

/** A version that gets a share of the requests. */
interface LiveVersion {
  versionId: string
  bindings: { name: string; type: string }[]
}

/** @param worker the name of the Worker. @returns none before the first deploy. */
export function listLiveVersions(call: CloudflareCall, worker: string): Promise<LiveVersion[]> {
  const script = `/workers/scripts/${worker}`
  return unlessNoWorker(async () => {
    const shares = readList(await call('GET', `${script}/deployments`), 'deployments', 0, 'versions')
    // A gradual deploy can end with a version that gets 0 % of the requests.
    const versions = shares.filter((share) => readPath(share, 'percentage') !== 0)
    return Promise.all(
      versions.map(async (version) => {
        const versionId = String(readPath(version, 'version_id'))
        const bindings = readList(await call('GET', `${script}/versions/${versionId}`), 'resources', 'bindings')
        return {
          versionId,
          bindings: bindings.map((one) => ({
            name: String(readPath(one, 'name')),
            type: String(readPath(one, 'type')),
          })),
        }
      }),
    )
  })
}

/** @returns the ID of the version that was uploaded last, live or not; undefined while there is no Worker. */
export async function findLatestVersion(call: CloudflareCall, worker: string): Promise<string | undefined> {
  const list = async () => readList(await call('GET', `/workers/scripts/${worker}/versions`), 'items')
  const id = readPath(await unlessNoWorker(list), 0, 'id')
  return typeof id === 'string' ? id : undefined
}

/** Calls a function that lists something of a Worker. @returns an empty list while there is no such Worker. */
export async function unlessNoWorker<T>(list: () => Promise<T[]>): Promise<T[]> {
  try {
    return await list()
  } catch (error) {
    if (error instanceof CloudflareError && error.codes.some((code) => workerNotFoundCodes.has(code))) return []
    throw error
  }
}

/** Cloudflare's codes for a Worker that does not exist, from wrangler's sources. */
const workerNotFoundCodes = new Set<unknown>([10007, 10090])

function readList(answer: unknown, ...path: (string | number)[]): unknown[] {
  const list = readPath(answer, ...path)
  return Array.isArray(list) ? list : []
}
