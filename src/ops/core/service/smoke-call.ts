// Sends the requests of the smoke test. After a deploy, the old version answers some requests for seconds, so each request is repeated
// until the new version answers it.
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

/** The version of the Worker that must answer. */
export interface WantedVersion {
  /** The name of the Worker. */
  worker: string
  id: string
}

/** The longest wait, for all requests together. The address of a new service takes longer to work than a new version. */
export const maxWaitSeconds = 120
/** Between two attempts: an address may send 100 token requests in 60 s. */
const pauseMs = 700
const timeoutMs = 10_000

/**
 * Returns a function that sends a request, and repeats it until the wanted version answers. One answer of the wanted version doesn't mean
 * that it answers all requests, so each request is repeated on its own.
 * @param version the wanted version. Without it, the first answer counts.
 * @throws Error that names both versions, after `maxWaitSeconds`.
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
