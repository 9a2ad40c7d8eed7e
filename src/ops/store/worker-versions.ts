// Finds the versions of a Worker that answer requests: after a rollback an earlier one, during a gradual deploy several.
import { readPath } from '../../json.ts'
import type { CloudflareCall } from './cloudflare-api.ts'
import { CloudflareError } from './failure.ts'

/** A version that gets a share of the requests. */
interface LiveVersion {
  versionId: string
  bindings: { name: string; type: string }[]
}

/** Lists the versions that answer requests. @param worker the name of the Worker. @returns an empty list while there is no Worker. @throws CloudflareError if Cloudflare refuses or fails. */
export function listLiveVersions(call: CloudflareCall, worker: string): Promise<LiveVersion[]> {
  const script = `/workers/scripts/${worker}`
  const readVersion = async (versionId: string): Promise<LiveVersion> => {
    const bindings = readList(await call('GET', `${script}/versions/${versionId}`), 'resources', 'bindings')
    return {
      versionId,
      bindings: bindings.map((binding) => ({
        name: String(readPath(binding, 'name')),
        type: String(readPath(binding, 'type')),
      })),
    }
  }
  return listUnlessNoWorker(async () => {
    // The first deployment of the list is the current one.
    const versions = readList(await call('GET', `${script}/deployments`), 'deployments', 0, 'versions')
    // A gradual deploy can end with a version that gets 0 % of the requests.
    const liveVersions = versions.filter((version) => readPath(version, 'percentage') !== 0)
    return Promise.all(liveVersions.map((version) => readVersion(String(readPath(version, 'version_id')))))
  })
}

/** @returns the ID of the version that was uploaded last, whether or not it answers requests; undefined while there is no Worker. @throws CloudflareError if Cloudflare refuses or fails. */
export async function findLatestVersion(call: CloudflareCall, worker: string): Promise<string | undefined> {
  const listVersions = async () => readList(await call('GET', `/workers/scripts/${worker}/versions`), 'items')
  const id = readPath(await listUnlessNoWorker(listVersions), 0, 'id')
  return typeof id === 'string' ? id : undefined
}

/** Calls `list`, which asks Cloudflare for parts of a Worker. @returns its list, or an empty list while there is no such Worker. @throws any other error of `list`. */
export async function listUnlessNoWorker<T>(list: () => Promise<T[]>): Promise<T[]> {
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
