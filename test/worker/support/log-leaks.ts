// Every request of the suite is watched: no line that is logged until it is answered may hold a secret, a token, a hash, a
// key, a client ID, or the value of a field or filter of the request.
import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import { parseKeyName } from '../../../src/crypto/signing-keys.ts'
import { parseBasic } from '../../../src/worker/token/basic-credentials.ts'

const levels = ['info', 'warn', 'error', 'log', 'debug'] as const
const watching = new WeakSet<object>()
const lines: string[] = []
let isWithin = false

/** Values that must not appear in the log: client IDs, their secrets, the hashes of the secrets, and keys. */
const secrets = new Set(
  Object.entries(env).flatMap(([name, value]: [string, unknown]) =>
    parseKeyName(name) === undefined ? [] : [String(value)],
  ),
)

/** Shorter values appear in lines by chance. */
const minSecretLength = 12

export function keepSecret(...values: string[]): void {
  for (const value of values) secrets.add(value)
}

export async function withoutLeaks(request: Request, answer: () => Promise<Response>): Promise<Response> {
  watchConsole()
  const response = await answer()
  const { access_token: token = '' } =
    request.url.endsWith('/auth') && response.status === 200
      ? await response.clone().json<{ access_token?: string }>()
      : {}
  const authorization = request.headers.get('Authorization') ?? ''
  const basic = parseBasic(authorization)
  const credentials = typeof basic === 'object' ? [basic.clientId, basic.clientSecret] : []
  const own = [
    ...request.headers.values(),
    ...new URL(request.url).searchParams.values(),
    ...authorization.split(' '),
    ...token.split('.'),
    ...credentials,
  ]
  const forbidden = [...own, ...secrets].filter(({ length }) => length >= minSecretLength)
  // Also searches lines that the previous request logged after its response.
  const leaks = lines.splice(0).filter((line) => forbidden.some((value) => line.includes(value)))
  expect(leaks, 'lines of the log that hold a secret').toEqual([])
  return response
}

/** Still calls a spy that a test installed. */
function watchConsole(): void {
  for (const level of levels) {
    // Reading console.info gives another function each time; its descriptor has the one that was set.
    const current: unknown = Object.getOwnPropertyDescriptor(console, level)?.value
    if (typeof current === 'function' && watching.has(current)) continue
    const original = console[level]
    const watched = (...values: unknown[]) => {
      // A spy on a watched console calls that, in turn.
      if (!isWithin) lines.push(values.map(String).join(' '))
      const wasWithin = isWithin
      isWithin = true
      original(...values)
      isWithin = wasWithin
    }
    watching.add(watched)
    console[level] = watched
  }
}
