// Sends the requests of the smoke test. After a deploy, the old version answers some requests for seconds, so each request is repeated
// until the new version answers it.
import { isJsonObject, parseJson } from '../../../json.ts'
import type { Clock } from '../../shared/clock.ts'

export interface SmokeResponse {
  status: number
  headers: Headers
  /** The body; undefined when it is not a JSON object. */
  json: Record<string, unknown> | undefined
}

export interface WantedVersion {
  workerName: string
  id: string
}

/** The longest wait, for all requests together. The address of a new service takes longer to work than a new version. */
export const maxWaitSeconds = 120
/** The pause between two attempts. It keeps the test below the rate limit: 100 token requests in 60 s from one address. */
const pauseMs = 700
const timeoutMs = 10_000

/**
 * Returns a function that repeats a request until the wanted version answers. After its first answer, the old version may still answer
 * other requests.
 * @param send sends one request, as `fetch` does.
 * @param version the wanted version. Without it, the first answer or failure counts.
 * @returns a function that throws the last error once `maxWaitSeconds` are over: a failure, or an answer of another version or without one.
 */
export function createSmokeCall(send: typeof fetch, version: WantedVersion | undefined, { nowMs, sleep }: Clock) {
  const deadlineMs = nowMs() + (version === undefined ? 0 : 1000 * maxWaitSeconds)
  // https://developers.cloudflare.com/workers/versions-and-deployments/version-overrides/
  const overrideHeader = version && { 'Cloudflare-Workers-Version-Overrides': `${version.workerName}="${version.id}"` }

  return async (url: string, init?: { method?: string; headers?: Record<string, string> }): Promise<SmokeResponse> => {
    for (;;) {
      try {
        const headers = { ...overrideHeader, ...init?.headers }
        const signal = AbortSignal.timeout(timeoutMs)
        const answer = await readAnswer(await send(url, { ...init, headers, redirect: 'manual', signal }))
        // Only the Worker names its version. Cloudflare serves the site's files and redirects to HTTPS without the Worker.
        const { protocol, pathname } = new URL(url)
        const isForWorker = protocol === 'https:' && pathname.startsWith('/api/')
        if (version !== undefined && isForWorker) requireVersion(answer, version.id)
        return answer
      } catch (error) {
        if (nowMs() >= deadlineMs) throw error
      }
      await sleep(pauseMs)
    }
  }
}

async function readAnswer(response: Response): Promise<SmokeResponse> {
  const { status, headers } = response
  const json = parseJson(await response.text())
  return { status, headers, json: isJsonObject(json) ? json : undefined }
}

/** @throws Error unless the wanted version answered. The error is shown only when the time is over, so its message names `maxWaitSeconds`. */
function requireVersion({ status, headers }: SmokeResponse, wantedId: string): void {
  const id = headers.get('X-Worker-Version')
  if (id === wantedId) return
  const answerClause = id === null ? `an answer with status ${status} has no version` : `version ${id} answers`
  throw new Error(`version ${wantedId} should answer; after ${maxWaitSeconds} s, ${answerClause}`)
}
