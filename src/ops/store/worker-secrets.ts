// Lists and changes the secrets of a deployed Worker. Wrangler changes them, because it can also create an empty Worker.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, tokenAdvice } from './cloudflare-api.ts'
import { throwAsUserError } from './failure.ts'
import { describeDeploy, type Target } from '../shared/target.ts'
import { findLatestVersion, listLiveVersions, listUnlessNoWorker } from './worker-versions.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** The names of the secrets of a Worker. Each version of the Worker has its own secrets. */
export interface SecretNames {
  /** The secrets of the versions that answer requests. */
  live: string[]
  /** The secrets of the latest version. The next deploy keeps only these secrets. */
  latest: string[]
}

export type WorkerSecrets = ReturnType<typeof openWorkerSecrets>

/** The returned functions throw a UserError when Cloudflare or wrangler refuses, fails or can't be reached. */
export function openWorkerSecrets(target: Target) {
  return {
    /** Lists the secrets of the live versions, and of the latest version. Both lists are empty while there is no Worker. */
    list: async (): Promise<SecretNames> => {
      const { wrangler, call } = await openAccount(target)
      const worker = wrangler.name
      const listLatestNames = async () => {
        const result = await call('GET', `/workers/scripts/${worker}/secrets`)
        return (Array.isArray(result) ? result : []).map((secret: unknown) => String(readPath(secret, 'name')))
      }
      const lists = [listLiveVersions(call, worker), listUnlessNoWorker(listLatestNames)] as const
      const [liveVersions, latestNames] = await Promise.all(lists).catch(throwAsUserError)
      const bindings = liveVersions.flatMap((version) => version.bindings)
      const liveNames = bindings.filter(({ type }) => type === 'secret_text').map(({ name }) => name)
      return { live: [...new Set(liveNames)], latest: latestNames }
    },
    /** @throws UserError when another version than the latest is live: Cloudflare would refuse a change. */
    checkEditable: async (): Promise<void> => {
      const { wrangler, call } = await openAccount(target)
      const versions = [listLiveVersions(call, wrangler.name), findLatestVersion(call, wrangler.name)] as const
      const [liveVersions, latestId] = await Promise.all(versions).catch(throwAsUserError)
      if (liveVersions.every(({ versionId }) => versionId === latestId)) return
      throw new UserError([
        'The secrets of the Worker can’t be changed until its latest version gets all requests.',
        `Deploy first: ${describeDeploy(target)}`,
      ])
    },
    /** Sets secrets, and deletes secrets whose value is null, in one change of the Worker. */
    put: async (secrets: Record<string, string | null>): Promise<void> => {
      const child = startWrangler(['secret', 'bulk', '--env', target.env ?? ''], ['pipe', 'pipe', 'pipe'])
      // Wrangler reads the secrets from standard input, because arguments are visible in process lists.
      const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
      if (exitCode === 0) return
      const lines = output.split('\n').map((line) => line.trim())
      const cloudflareReason = lines.find((line) => /\[code: \d+\]$/.test(line))
      const reason = cloudflareReason ?? lines.find((line) => line.includes('ERROR')) ?? 'wrangler gave no reason'
      throw new UserError(`Wrangler failed while it changed the Worker’s secrets: ${reason}. ${tokenAdvice}`)
    },
  }
}
