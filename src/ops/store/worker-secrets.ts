// Lists and changes the secrets of a deployed Worker. Cloudflare's API lists their names. Wrangler changes them: it also creates an empty
// Worker for the first ones.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, tokenAdvice } from './cloudflare-api.ts'
import { throwAsUserError } from './failure.ts'
import { describeDeploy, type Target } from '../shared/target.ts'
import { findLatestVersion, listLiveVersions, unlessNoWorker } from './worker-versions.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** The names of the secrets of a Worker: each of its versions has its own. */
export interface SecretNames {
  /** The secrets of the versions that answer requests. */
  live: string[]
  /** The secrets of the latest version. The next deploy keeps these, and no others. */
  latest: string[]
}

export type WorkerSecrets = ReturnType<typeof openWorkerSecrets>

export function openWorkerSecrets(target: Target) {
  return {
    /** Lists names; none while there is no Worker. */
    list: () => listSecrets(target),
    /** @throws UserError when another version than the latest is live: Cloudflare would refuse a change. */
    checkEditable: () => checkEditable(target),
    /** Sets secrets, and deletes those that are null, in one change of the Worker. */
    put: (secrets: Record<string, string | null>) => putSecrets(target, secrets),
  }
}

async function listSecrets(target: Target): Promise<SecretNames> {
  const { wrangler, call } = await openAccount(target)
  const worker = wrangler.name
  const listLatest = async () => {
    const result = await call('GET', `/workers/scripts/${worker}/secrets`)
    return (Array.isArray(result) ? result : []).map((secret: unknown) => String(readPath(secret, 'name')))
  }
  const lists = [listLiveVersions(call, worker), unlessNoWorker(listLatest)] as const
  const [versions, latest] = await Promise.all(lists).catch(throwAsUserError)
  const secrets = versions.flatMap(({ bindings }) => bindings.filter(({ type }) => type === 'secret_text'))
  return { live: [...new Set(secrets.map(({ name }) => name))], latest }
}

async function checkEditable(target: Target): Promise<void> {
  const { wrangler, call } = await openAccount(target)
  const versions = [listLiveVersions(call, wrangler.name), findLatestVersion(call, wrangler.name)] as const
  const [live, latest] = await Promise.all(versions).catch(throwAsUserError)
  if (live.every(({ versionId }) => versionId === latest)) return
  throw new UserError([
    `${problem}, because the latest version does not get all requests.`,
    `Deploy first: ${describeDeploy(target)}`,
  ])
}

/** Passes the secrets through standard input: arguments are visible in process lists. */
async function putSecrets(target: Target, secrets: Record<string, string | null>): Promise<void> {
  const child = startWrangler(['secret', 'bulk', '--env', target.env ?? ''], ['pipe', 'pipe', 'pipe'])
  const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
  if (exitCode === 0) return
  // Cloudflare's own reason, or wrangler's.
  const lines = output.split('\n').map((line) => line.trim())
  const reason = lines.find((line) => /\[code: \d+\]$/.test(line)) ?? lines.find((line) => line.includes('ERROR'))
  throw new UserError(`${problem}: ${reason ?? 'wrangler gave no reason'}. ${tokenAdvice}`)
}

const problem = 'The secrets of the Worker could not be changed'
