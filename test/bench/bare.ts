// Bare Workers: each does only the work that an answer can't do without, in the fastest way we found. The binding WORK
// selects the work.
import { createLineBudget } from '../../src/worker/http/line-budget.ts'

interface BareEnv {
  WORK: 'bytes' | 'stream' | 'not-modified' | 'kv' | 'token' | 'first-token'
  /** The KV key of the body that `bytes` and `stream` send. */
  BODY?: string
  /** Signs tokens. */
  KEY?: string
  CATALOG_CACHE: KVNamespace
  DB: D1Database
  AUTH_ADDRESS_RATE_LIMIT: RateLimit
  AUTH_RATE_LIMIT: RateLimit
}

const headers = { 'Content-Type': 'application/json' }
const sliceBytes = 64 * 1024
const encoder = new TextEncoder()
const allowLine = createLineBudget()
let bytes: Uint8Array | undefined
let key: CryptoKey | undefined

export default {
  async fetch(request: Request, env: BareEnv): Promise<Response> {
    switch (env.WORK) {
      case 'bytes':
        return answerList(request, (bytes ??= await readBody(env)))
      case 'stream':
        return answerList(request, streamSlices((bytes ??= await readBody(env))))
      case 'not-modified':
        return answerList(request, null)
      case 'kv':
        return answerList(request, await readFromKv(request, env))
      case 'token':
        return issueToken(request, env)
      case 'first-token':
        await env.AUTH_ADDRESS_RATE_LIMIT.limit({ key: 'address' })
        await deriveHash(request)
        return issueToken(request, env)
      default:
        return new Response(null, { status: 500 })
    }
  },
} satisfies ExportedHandler<BareEnv>

/** The Worker's headers, request ID and choice of log lines, without authentication and cache. Without a body, it is a 304. */
function answerList(request: Request, body: Uint8Array | ArrayBuffer | ReadableStream | null): Response {
  const startedAtMs = Date.now()
  const requestId = crypto.randomUUID()
  const status = body === null ? 304 : 200
  const response = new Response(body, {
    status,
    headers: {
      ETag: request.headers.get('If-None-Match') ?? '"MDfm93pYf5ukiPWD3U3ZBQ"',
      'X-Request-Id': requestId,
      'Strict-Transport-Security': 'max-age=31536000',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-cache',
      Vary: 'Authorization',
      'Cache-Status': 'memory; hit; ttl=60',
      ...(body !== null && headers),
    },
  })
  const tier = 'memory'
  const endedAtMs = Date.now()
  const durationMs = endedAtMs - startedAtMs
  if (!allowLine(endedAtMs)) return response
  const { method, url: route } = request
  const partner = request.headers.get('Authorization')?.slice(0, 6)
  const usage = { route, status, durationMs, partner, country: 'KE', tier, ageSeconds: 0 }
  console.info(JSON.stringify({ level: 'info', event: 'request', requestId, method, ...usage }))
  return response
}

/** Reads the value with its metadata into bytes, as a cache needs them. */
async function readFromKv(request: Request, { CATALOG_CACHE }: BareEnv): Promise<ArrayBuffer> {
  const name = new URL(request.url).searchParams.get('key') ?? ''
  const { value } = await CATALOG_CACHE.getWithMetadata(name, 'arrayBuffer')
  return value ?? new ArrayBuffer()
}

async function readBody({ CATALOG_CACHE, BODY = '' }: BareEnv): Promise<Uint8Array> {
  return new Uint8Array((await CATALOG_CACHE.get(BODY, 'arrayBuffer')) ?? [])
}

/** Streams a large body in slices, as the Worker does. */
function streamSlices(body: Uint8Array): ReadableStream {
  const { readable, writable } = new FixedLengthStream(body.byteLength)
  void (async () => {
    const writer = writable.getWriter()
    for (let start = 0; start < body.byteLength; start += sliceBytes) {
      await writer.write(body.subarray(start, start + sliceBytes))
    }
    await writer.close()
  })().catch(() => {})
  return readable
}

/** One rate limit, one D1 read and one HS256 signature. */
async function issueToken(request: Request, env: BareEnv): Promise<Response> {
  const clientId = atob((request.headers.get('Authorization') ?? '').slice(6)).slice(0, 16)
  await env.AUTH_RATE_LIMIT.limit({ key: clientId })
  const statement = env.DB.prepare(
    'select partner, suspended_at, secrets from change_record where id = (select max(id) from change_record where client_id = ?)',
  )
  const [row] = await statement.bind(clientId).raw<[string]>()
  key ??= await crypto.subtle.importKey('raw', encoder.encode(env.KEY), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ])
  const claims = { iss: 'i', aud: 'a', sub: clientId, partner: row?.[0], iat: 1, exp: 2, jti: crypto.randomUUID() }
  const text = `${btoa('{"alg":"HS256","typ":"JWT","kid":"k"}')}.${btoa(JSON.stringify(claims))}`
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)))
  const token = `${text}.${btoa(String.fromCharCode(...signature))}`
  return new Response(JSON.stringify({ access_token: token, expires_in: 3600, token_type: 'Bearer' }), { headers })
}

async function deriveHash(request: Request): Promise<void> {
  const secret = encoder.encode(request.headers.get('Authorization') ?? '')
  const base = await crypto.subtle.importKey('raw', secret, 'PBKDF2', false, ['deriveBits'])
  const parameters = { name: 'PBKDF2', hash: 'SHA-256', salt: secret.slice(0, 16), iterations: 100_000 }
  await crypto.subtle.deriveBits(parameters, base, 256)
}
