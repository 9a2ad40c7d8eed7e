// The requests of the smoke test. They wait while a deployment spreads: for seconds, the version before answers some requests, also
// those that ask for the new one.
import { isJsonObject } from '../../../json.ts'
import type { Clock } from '../../shared/clock.ts'

export interface SmokeResponse {
  status: number
  headers: Headers
  /** The body; undefined when it is not a JSON object. */
  json: Record<string, unknown> | undefined
}

export type SmokeCall = (
  url: string,
  init?: { method?: string; headers?: Record<string, string> },
) => Promise<SmokeResponse>

/** The version that must answer. */
export interface WantedVersion {
  worker: string
  id: string
}

/** For all requests together. The address of a new service takes longer than a version. */
export const maxWaitSeconds = 120
/** Token requests stay below the limit of an address, 100 in 60 s. */
const pauseMs = 700
const timeoutMs = 10_000

/**
 * Returns a function that sends a request to the API again until the wanted version answers it. One right answer doesn't mean
 * that the version has spread, so each request waits for its own.
 * @param version without it, every answer counts, and nothing waits
 * @throws Error that names both versions when the time is over
 */
export function createSmokeCall(
  send: typeof fetch,
  version: WantedVersion | undefined,
  { nowMs, sleep }: Clock,
): SmokeCall {
  const endMs = nowMs() + (version === undefined ? 0 : 1000 * maxWaitSeconds)
  // https://developers.cloudflare.com/workers/versions-and-deployments/version-overrides/
  const override = version && { 'Cloudflare-Workers-Version-Overrides': `${version.worker}="${version.id}"` }

  return async (url, init) => {
    for (;;) {
      try {
        const headers = { ...override, ...init?.headers }
        const signal = AbortSignal.timeout(timeoutMs)
        const answer = await readAnswer(await send(url, { ...init, headers, redirect: 'manual', signal }))
        // Cloudflare serves the site's files, and redirects to HTTPS, without the Worker: they name no version.
        const { protocol, pathname } = new URL(url)
        const isOfWorker = protocol === 'https:' && pathname.startsWith('/api/')
        if (version !== undefined && isOfWorker) requireVersion(answer, version.id)
        return answer
      } catch (error) {
        if (nowMs() >= endMs) throw error
      }
      await sleep(pauseMs)
    }
  }
}

async function readAnswer(response: Response): Promise<SmokeResponse> {
  const { status, headers } = response
  const text = await response.text()
  try {
    const json: unknown = JSON.parse(text)
    return { status, headers, json: isJsonObject(json) ? json : undefined }
  } catch {
    return { status, headers, json: undefined }
  }
}

function requireVersion({ status, headers }: SmokeResponse, wantedId: string): void {
  const found = headers.get('X-Worker-Version')
  if (found === wantedId) return
  const others = found === null ? `an answer with status ${status} names none` : `version ${found} answers`
  throw new Error(`version ${wantedId} should answer; after ${maxWaitSeconds} s, ${others}`)
}
