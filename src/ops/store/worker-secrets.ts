// The secrets of a deployed Worker: their names over Cloudflare's API, changes through wrangler, which can also create
// an empty Worker to hold the first ones.
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { openAccount } from './cloudflare-api.ts'
import { CloudflareError, refuse } from './failure.ts'
import type { Target } from '../shared/target.ts'
import { finishWrangler, startWrangler } from './wrangler.ts'

/** The secrets of a deployed Worker. */
export interface WorkerSecrets {
  /** Empty while there is no Worker. */
  listNames: () => Promise<string[]>
  /** Sets secrets, and deletes those that are null, in one change of the Worker. */
  put: (secrets: Record<string, string | null>) => Promise<void>
}

export function openWorkerSecrets(target: Target): WorkerSecrets {
  return { listNames: () => listNames(target), put: (secrets) => putSecrets(target, secrets) }
}

async function listNames(target: Target): Promise<string[]> {
  const { wrangler, call } = await openAccount(target)
  try {
    const result = await call('GET', `/workers/scripts/${wrangler.name}/secrets`)
    const secrets: unknown[] = Array.isArray(result) ? result : []
    return secrets.map((secret) => String(readPath(secret, 'name')))
  } catch (error) {
    if (error instanceof CloudflareError && error.codes.some((code) => workerNotFoundCodes.has(code))) return []
    return refuse(error)
  }
}

/** From wrangler's sources. */
const workerNotFoundCodes = new Set<unknown>([10007, 10090])

/** Passes the secrets through standard input: arguments are visible in process lists. */
async function putSecrets(target: Target, secrets: Record<string, string | null>): Promise<void> {
  const child = startWrangler(['secret', 'bulk', '--env', target.env ?? ''], ['pipe', 'pipe', 'pipe'])
  const { exitCode, output } = await finishWrangler(child, JSON.stringify(secrets))
  if (exitCode !== 0) throw new UserError(`The secrets of the Worker could not be changed: ${describeOutput(output)}`)
}

/** Picks Cloudflare's own reason from wrangler's output. */
function describeOutput(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const reason = lines.find((line) => /\[code: \d+\]$/.test(line)) ?? lines.find((line) => line.includes('ERROR'))
  return `${reason ?? 'wrangler gave no reason'}. Check that CLOUDFLARE_API_TOKEN may edit Workers Scripts of this account.`
}
