// JSON bytes as a response: 304 for a known ETag, a stream for large bodies.
import { withDeadline } from '../deadline.ts'
import { ApiError } from './api-error.ts'

/** A larger body is streamed in slices. */
const largeBodyBytes = 512 * 1024
const sliceBytes = 64 * 1024

/** A client that reads nothing for this long is disconnected, because its body stays in memory. */
const stallMs = 30_000
/** A client that reads more slowly on the whole is disconnected, too. */
const minBytesPerMs = 32

export type RespondConditionally = ReturnType<typeof createRespondConditionally>

/** @param maxStreamedBytes limit for the large bodies that readers are receiving. Each body counts once. */
export function createRespondConditionally(maxStreamedBytes: number) {
  /** By ETag: the large bodies that readers are receiving. Weak, because a request that is cancelled never says so. */
  const streamed = new Map<string, { body: WeakRef<Uint8Array>; readers: number }>()

  /** Returns undefined when the bodies of other readers leave no room. A body alone is never too large. */
  function addReader(body: Uint8Array, etag: string) {
    let otherBytes = 0
    for (const [otherEtag, other] of streamed) {
      const otherBody = other.body.deref()
      if (otherBody === undefined) streamed.delete(otherEtag)
      else if (otherEtag !== etag) otherBytes += otherBody.byteLength
    }
    if (otherBytes > 0 && otherBytes + body.byteLength > maxStreamedBytes) return undefined
    const entry = streamed.get(etag) ?? { body: new WeakRef(body), readers: 0 }
    streamed.set(etag, entry)
    entry.readers++
    return entry
  }

  /** Streams a large body: with a copy in each Response, memory would hold it many times. */
  function streamBody(body: Uint8Array, etag: string): ReadableStream {
    const entry = addReader(body, etag)
    if (!entry) throw new ApiError('unavailable', { reason: 'slow readers', headers: { 'Retry-After': '5' } })
    const { readable, writable } = new FixedLengthStream(body.byteLength)
    // Sends the bytes that other readers hold. `body` may be a second copy, which KV returned after memory evicted the list.
    void writeSlices(writable.getWriter(), entry.body.deref() ?? body)
      // Writing fails when the client disconnects. There is nobody left to tell.
      .catch(() => {})
      .finally(() => {
        entry.readers--
        if (entry.readers === 0 && streamed.get(etag) === entry) streamed.delete(etag)
      })
    return readable
  }

  /**
   * @param list with a strong entity tag, in its quotes (RFC 9110 section 8.8.3)
   * @param headers headers of both the 200 and the 304
   * @throws ApiError with a 503 when the bodies of other readers leave no room
   */
  return (
    request: Pick<Request, 'method' | 'headers'>,
    { body, etag }: { body: Uint8Array; etag: string },
    headers: Record<string, string>,
  ): Response => {
    if (matchesEtag(request.headers.get('If-None-Match'), etag)) {
      return new Response(null, { status: 304, headers: { ETag: etag, ...headers } })
    }
    const content = request.method === 'HEAD' ? null : body.byteLength > largeBodyBytes ? streamBody(body, etag) : body
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
  const endsAtMs = Date.now() + stallMs + bytes.byteLength / minBytesPerMs
  try {
    for (let start = 0; start < bytes.byteLength; start += sliceBytes) {
      const deadlineMs = Math.min(stallMs, endsAtMs - Date.now())
      await withDeadline(writer.write(bytes.subarray(start, start + sliceBytes)), deadlineMs, 'The reader')
    }
    await writer.close()
  } catch (error) {
    await writer.abort(error)
  }
}
