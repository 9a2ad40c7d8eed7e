// GET /api/v3/partners/{shortName}/plans: the plans that are viewable in the partner's country.
import { Hono } from 'hono'
import { requireBearer } from '../access/require-bearer.ts'
import { cacheOf, type AppEnv } from '../context.ts'
import { ApiError } from '../http/api-error.ts'
import { parsePlanFilter } from './filter-query.ts'
import { listPlans } from './plan-list.ts'
import { methodNotAllowed } from '../http/method-not-allowed.ts'

export const plansRoute = new Hono<AppEnv>()
  .get('/', requireBearer, async function plans(c) {
    const partner = c.get('partner')
    if (c.req.param('shortName') !== partner.shortName) throw new ApiError('forbidden')
    const parsed = parsePlanFilter(c.req.url)
    if (parsed.kind === 'invalid') throw new ApiError('invalid_request', { message: parsed.problems.join(' ') })

    const answer = await listPlans(c.env.DB, cacheOf(c), partner.country, parsed.filter)
    c.set('answeredBy', answer)
    const { body, etag } = answer.entry
    const headers = {
      ETag: etag,
      'Cache-Control': 'private, no-cache',
      Vary: 'Authorization',
      'Cache-Status': answer.cacheStatus,
    }
    if (matchesEtag(c.req.header('If-None-Match'), etag)) return new Response(null, { status: 304, headers })
    const init = { headers: { ...headers, 'Content-Type': 'application/json' } }
    return new Response(body.byteLength > largestCopiedBody ? streamBytes(body) : body, init)
  })
  .all('/', methodNotAllowed('GET, HEAD'))

/** A Response copies its bytes, which is the faster way up to about here; a stream of slices copies no list of 12 MB. */
const largestCopiedBody = 512 * 1024
const sliceBytes = 64 * 1024

function streamBytes(bytes: Uint8Array): ReadableStream {
  const { readable, writable } = new FixedLengthStream(bytes.byteLength)
  // Ends early when the client does.
  void writeSlices(writable.getWriter(), bytes).catch(() => {})
  return readable
}

async function writeSlices(writer: WritableStreamDefaultWriter, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start < bytes.byteLength; start += sliceBytes) {
    await writer.write(bytes.subarray(start, start + sliceBytes))
  }
  await writer.close()
}

/** If-None-Match compares weakly (RFC 9110 section 13.1.2): `W/"x"` is `"x"`. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}
