// Requests to the Worker as a partner sends them.
import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { ErrorBody } from '../../../src/worker/http/api-error.ts'
import { worker } from './isolate.ts'
import { withoutLeaks } from './log-leaks.ts'
import { expectDocumented } from './documented.ts'

const serviceOrigin = 'https://catalog.example.com'
export const tokenPath = '/api/v3/partners/auth'
let addresses = 0

export function send(path: string, init: RequestInit = {}, bindings: Env = env): Promise<Response> {
  return sendTo(serviceOrigin, path, init, bindings)
}

/** Sends to any origin. Comes back once the work after the response is done, too. */
export async function sendTo(origin: string, path: string, init: RequestInit, bindings: Env = env): Promise<Response> {
  const headers = new Headers(init.headers)
  // Every request comes from an address of its own, so that no test runs into the rate limit of another.
  if (!headers.has('CF-Connecting-IP')) headers.set('CF-Connecting-IP', `2001:db8:0:${(++addresses).toString(16)}::1`)
  const context = createExecutionContext()
  const request = new Request(`${origin}${path}`, { ...init, headers })
  return withoutLeaks(request, async () => {
    const response = await worker.fetch(request, bindings, context)
    await waitOnExecutionContext(context)
    await expectDocumented(request, response)
    return response
  })
}

export function basic(clientId: string, clientSecret: string): string {
  return `Basic ${btoa(`${clientId}:${clientSecret}`)}`
}

export function requestToken(authorization?: string, bindings: Env = env): Promise<Response> {
  const headers = authorization === undefined ? {} : { Authorization: authorization }
  return send(tokenPath, { method: 'POST', headers }, bindings)
}

export async function fetchToken(partner: { clientId: string; clientSecret: string }): Promise<string> {
  const response = await requestToken(basic(partner.clientId, partner.clientSecret))
  const { access_token } = await response.json<{ access_token: string }>()
  return access_token
}

interface PlansRequest {
  shortName: string
  token?: string
  query?: string
  method?: string
  headers?: Record<string, string>
  bindings?: Env
}

export function requestPlans({ shortName, token, query = '', method = 'GET', headers, bindings }: PlansRequest) {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  const path = `/api/v3/partners/${shortName}/plans${query}`
  return send(path, { method, headers: { ...authorization, ...headers } }, bindings)
}

/** @returns the IDs of a list's plans, in its order */
export async function readPlanIds(response: Response): Promise<number[]> {
  const { data } = await response.json<{ data: { plans: { id: number }[] } }>()
  return data.plans.map(({ id }) => id)
}

/** Asserts the whole envelope of a refusal, and returns the response for its headers. */
export async function expectRefusal(response: Response, status: number, error: string, message?: string) {
  const requestId = response.headers.get('X-Request-Id')
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/)
  expect(response.headers.get('Content-Type')).toBe('application/json')
  expect(response.headers.get('Cache-Control')).toBe('no-store')
  expect(response.headers.get('Strict-Transport-Security')).toBe('max-age=31536000')
  expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff')
  const body = await response.json<ErrorBody>()
  expect({ status: response.status, ...body }).toEqual({
    status,
    error,
    requestId,
    message: message ?? expect.stringMatching(/^[A-Z].+\.$/),
    // RFC 6749 section 5.2 allows these characters.
    ...('error_description' in body && { error_description: body.message.replaceAll(/[^ !#-[\]-~]/g, '') }),
  })
}
