// JSON bytes as a response: 304 for a known ETag, a stream for large bodies.
import { largeBodyBytes } from '../cache/list-memory.ts'
import { ApiError } from './api-error.ts'

const sliceBytes = 64 * 1024

/** A reader that takes nothing between two of these moments loses its connection, because it keeps the body in memory. */
const stallCheckMs = 30_000

/**
 * @param etag a strong entity tag, with its quotes (RFC 9110 section 8.8.3)
 * @param headers headers of both the 200 and the 304
 * @throws ApiError with a 503 when slow readers hold too many other bodies
 */
export type RespondConditionally = (
  request: Pick<Request, 'method' | 'headers'>,
  list: { body: Uint8Array; etag: string },
  headers: Record<string, string>,
) => Response

/** @param maxStreamedBytes limit for the large bodies that readers are receiving. Each body counts once. */
export function createRespondConditionally({ maxStreamedBytes }: { maxStreamedBytes: number }): RespondConditionally {
  /** The body of each reader. Weak, because a request that is cancelled never says so. */
  const streams = new Set<WeakRef<Uint8Array>>()

  function hasRoom(body: Uint8Array): boolean {
    const bodies = new Set([body])
    for (const stream of streams) {
      const other = stream.deref()
      if (other) bodies.add(other)
      else streams.delete(stream)
    }
    let bytes = 0
    for (const { byteLength } of bodies) bytes += byteLength
    return bodies.size === 1 || bytes <= maxStreamedBytes
  }

  /** Copying a large body into each Response would multiply it. */
  function streamBody(body: Uint8Array): ReadableStream {
    if (!hasRoom(body)) throw new ApiError('unavailable', { reason: 'slow readers', headers: { 'Retry-After': '5' } })
    const { readable, writable } = new FixedLengthStream(body.byteLength)
    const stream = new WeakRef(body)
    streams.add(stream)
    // Writing fails when the client disconnects. There is nobody left to tell.
    void writeSlices(writable.getWriter(), body)
      .catch(() => {})
      .finally(() => streams.delete(stream))
    return readable
  }

  return (request, { body, etag }, headers) => {
    if (matchesEtag(request.headers.get('If-None-Match'), etag)) {
      return new Response(null, { status: 304, headers: { ETag: etag, ...headers } })
    }
    const content = request.method === 'HEAD' ? null : body.byteLength > largeBodyBytes ? streamBody(body) : body
    return new Response(content, { headers: { ETag: etag, ...headers, 'Content-Type': 'application/json' } })
  }
}

/** If-None-Match uses weak comparison (RFC 9110 section 13.1.2): `W/"x"` matches `"x"`. */
function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

async function writeSlices(writer: WritableStreamDefaultWriter, bytes: Uint8Array): Promise<void> {
  let hasProgress = true
  const timer = setInterval(() => {
    if (!hasProgress) void writer.abort()
    hasProgress = false
  }, stallCheckMs)
  try {
    for (let start = 0; start < bytes.byteLength; start += sliceBytes) {
      await writer.write(bytes.subarray(start, start + sliceBytes))
      hasProgress = true
    }
    await writer.close()
  } finally {
    clearInterval(timer)
  }
}
