// The secrets of a deployed Worker: their names over Cloudflare's API, changes through wrangler, which can also create
// an empty Worker to hold the first ones.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount, tokenAdvice } from './cloudflare-api.ts'
import { refuse } from './failure.ts'
import { describeDeploy, type Target } from '../shared/target.ts'
import { findLatestVersion, listLiveVersions, unlessNoWorker } from './worker-versions.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** Each version has secrets of its own. */
export interface WorkerSecret {
  name: string
  /** Whether a version that answers requests has it. */
  isLive: boolean
  /** Whether every version that answers requests has it. */
  isEverywhere: boolean
  /** Whether the latest version has it. The next deploy keeps these, and no others. */
  isKept: boolean
}

export type WorkerSecrets = ReturnType<typeof openWorkerSecrets>

export function openWorkerSecrets(target: Target) {
  return {
    /** Empty while there is no Worker. */
    list: () => listSecrets(target),
    /** @throws UserError when another version than the latest is live: Cloudflare refuses a change. */
    checkEditable: () => checkEditable(target),
    /** Sets secrets, and deletes those that are null, in one change of the Worker. */
    put: (secrets: Record<string, string | null>) => putSecrets(target, secrets),
  }
}

async function listSecrets(target: Target): Promise<WorkerSecret[]> {
  const { wrangler, call } = await openAccount(target)
  const worker = wrangler.name
  const listKept = async () => {
    // The names of the latest version, also when it is not live.
    const result = await call('GET', `/workers/scripts/${worker}/secrets`)
    return (Array.isArray(result) ? result : []).map((secret: unknown) => String(readPath(secret, 'name')))
  }
  const [versions, kept] = await Promise.all([listLiveVersions(call, worker), unlessNoWorker(listKept)]).catch(refuse)
  const live = versions.map(({ bindings }) =>
    bindings.filter(({ type }) => type === 'secret_text').map(({ name }) => name),
  )
  return [...new Set([...live.flat(), ...kept])].map((name) => ({
    name,
    isLive: live.length === 0 || live.some((names) => names.includes(name)),
    isEverywhere: live.every((names) => names.includes(name)),
    isKept: kept.includes(name),
  }))
}

async function checkEditable(target: Target): Promise<void> {
  const { wrangler, call } = await openAccount(target)
  const versions = [listLiveVersions(call, wrangler.name), findLatestVersion(call, wrangler.name)] as const
  const [live, latest] = await Promise.all(versions).catch(refuse)
  if (live.some(({ versionId }) => versionId !== latest)) throw new UserError(describeNotLatest(target))
}

/** Passes the secrets through standard input: arguments are visible in process lists. */
async function putSecrets(target: Target, secrets: Record<string, string | null>): Promise<void> {
  const child = startWrangler(['secret', 'bulk', '--env', target.env ?? ''], ['pipe', 'pipe', 'pipe'])
  const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
  if (exitCode === 0) return
  if (notLatest.test(output)) throw new UserError(describeNotLatest(target))
  throw new UserError(`${problem}: ${describeOutput(output)}`)
}

const problem = 'The secrets of the Worker could not be changed'

function describeNotLatest(target: Target): string {
  return `${problem}, because the latest version does not get all requests. Deploy first: ${describeDeploy(target)}`
}

/** Wrangler's own words for the codes 10214 and 10215, which it doesn't quote for each of its commands. */
const notLatest = /latest version of your Worker isn't currently deployed|\[code: 1021[45]\]/

/** Picks Cloudflare's own reason from wrangler's output. */
function describeOutput(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const reason = lines.find((line) => /\[code: \d+\]$/.test(line)) ?? lines.find((line) => line.includes('ERROR'))
  return `${reason ?? 'wrangler gave no reason'}. ${tokenAdvice}`
}
