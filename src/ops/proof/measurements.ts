// Requests as a partner's server sends them, with their durations, and waits until a change is visible.
import { setTimeout } from 'node:timers/promises'
import type { Credentials } from '../core/partner-accounts.ts'

export interface Reply {
  /** 0 when no answer came within the deadline. */
  status: number
  headers: Headers
  body: string
  /** Milliseconds from the request to the last byte. */
  ms: number
}

const deadlineMs = 10_000

export async function send(url: string, init: RequestInit = {}): Promise<Reply> {
  const startMs = performance.now()
  const reply = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(deadlineMs) })
    .then(async (response) => ({ status: response.status, headers: response.headers, body: await response.text() }))
    .catch(() => ({ status: 0, headers: new Headers(), body: '' }))
  return { ...reply, ms: performance.now() - startMs }
}

export type Service = ReturnType<typeof openService>

/** What a partner with these credentials does. */
export function openService(origin: string, { clientId, clientSecret, shortName }: Credentials) {
  const api = `${origin}/api/v3/partners`
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  return {
    api,
    requestToken: () => send(`${api}/auth`, { method: 'POST', headers: { Authorization: authorization } }),
    list: (token: string, headers: Record<string, string> = {}) =>
      send(`${api}/${shortName}/plans`, { headers: { Authorization: `Bearer ${token}`, ...headers } }),
  }
}

export interface Series {
  what: string
  /** The durations of the requests that were answered as expected. */
  ms: number[]
  /** The statuses of the others. */
  failures: number[]
}

export async function measure(
  what: string,
  count: number,
  request: () => Promise<Reply>,
  expectedStatus = 200,
): Promise<Series> {
  const series: Series = { what, ms: [], failures: [] }
  for (let done = 0; done < count; done++) {
    const { status, ms } = await request()
    if (status === expectedStatus) series.ms.push(ms)
    else series.failures.push(status)
  }
  return series
}

/** @returns the smallest of the values that `percent` of them don't exceed. */
export function findPercentile(values: readonly number[], percent: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.ceil((values.length * percent) / 100) - 1]
}

/** How long a change took to reach requests from here, in milliseconds after it was made. */
export interface Wait {
  what: string
  /** The first answer with the change; undefined when none had it. */
  firstMs: number | undefined
  /** The answer from which on every one had it; undefined when there was none within `boundMs`. */
  settledMs: number | undefined
  boundMs: number
}

interface Pacing {
  pauseMs: number
  boundMs: number
  /** So many answers with the change in a row end the wait. */
  confirmations: number
  signal: AbortSignal
}

/**
 * Repeats a request until the change is confirmed, or the bound is over.
 * @returns also the first answer with the change.
 */
export async function waitForChange(
  what: string,
  { pauseMs, boundMs, confirmations, signal }: Pacing,
  request: () => Promise<Reply>,
  hasChange: (reply: Reply) => boolean,
): Promise<Wait & { first: Reply | undefined }> {
  const wait: Wait = { what, firstMs: undefined, settledMs: undefined, boundMs }
  let first: Reply | undefined
  const startMs = performance.now()
  for (let confirmed = 0; confirmed < confirmations;) {
    const reply = await request()
    const passedMs = performance.now() - startMs
    if (hasChange(reply)) {
      confirmed++
      first ??= reply
      wait.firstMs ??= passedMs
      wait.settledMs ??= passedMs
    } else {
      confirmed = 0
      wait.settledMs = undefined
    }
    if (passedMs > boundMs) return { ...wait, settledMs: undefined, first }
    await setTimeout(pauseMs, undefined, { signal })
  }
  return { ...wait, first }
}
