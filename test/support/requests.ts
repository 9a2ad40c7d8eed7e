// Requests to the Worker as a partner sends them.
import { exports } from 'cloudflare:workers'

export const origin = 'https://catalog.example.com'
let addresses = 0

export function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  // Every request comes from an address of its own, so that no test runs into the rate limit of another.
  if (!headers.has('CF-Connecting-IP')) headers.set('CF-Connecting-IP', `2001:db8::${(++addresses).toString(16)}`)
  return exports.default.fetch(new Request(`${origin}${path}`, { ...init, headers }))
}

export function basic(clientId: string, clientSecret: string): string {
  return `Basic ${btoa(`${clientId}:${clientSecret}`)}`
}

export function requestToken(authorization?: string): Promise<Response> {
  const headers = authorization === undefined ? {} : { Authorization: authorization }
  return send('/api/v3/partners/auth', { method: 'POST', headers })
}

export async function fetchToken(partner: { clientId: string; clientSecret: string }): Promise<string> {
  const response = await requestToken(basic(partner.clientId, partner.clientSecret))
  const { access_token } = await response.json<{ access_token: string }>()
  return access_token
}

export function requestPlans(shortName: string, token: string, query = '', headers = {}): Promise<Response> {
  return send(`/api/v3/partners/${shortName}/plans${query}`, {
    headers: { Authorization: `Bearer ${token}`, ...headers },
  })
}
