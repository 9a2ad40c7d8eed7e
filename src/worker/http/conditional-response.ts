// Answers with JSON bytes: a 304 if the client knows the ETag, a stream if the body is large.
import { withDeadline } from '../deadline.ts'
import { ApiError } from './api-error.ts'

/** A larger body is streamed in slices. */
const largeBodyBytes = 512 * 1024
const sliceBytes = 64 * 1024

/** A client that reads nothing for this long is disconnected: its body stays in memory until then. */
const stallMs = 30_000
/** A client whose average is slower than this is disconnected, too: 32 KB a second. */
const minBytesPerMs = 32
/** The large bodies that the readers of one client may hold. Until one of them ends, the client's next request gets a 503. */
const maxBodiesPerClient = 2

export type RespondConditionally = ReturnType<typeof createRespondConditionally>

/**
 * A reader is a response that a client is still receiving.
 * @param maxStreamedBytes limit for all large bodies of readers. A body with several readers counts once. A body in the cache doesn't count.
 * @param isCached tells whether the cache holds a body
 */
export function createRespondConditionally(maxStreamedBytes: number, isCached: (body: Uint8Array) => boolean) {
  /** The large bodies by ETag, with the client of each reader. The references are weak: nothing reports a cancelled request. */
  const streamed = new Map<string, { body: WeakRef<Uint8Array>; readers: string[] }>()

  /** @returns undefined if the bodies of the client's other readers, or of all readers, leave no room. A body alone always has room */
  function addReader(body: Uint8Array, etag: string, client: string) {
    let [otherBytes, ownBodies] = [0, 0]
    for (const [otherEtag, { body: other, readers }] of streamed) {
      const otherBody = other.deref()
      if (otherBody === undefined) streamed.delete(otherEtag)
      else if (otherEtag !== etag && !isCached(otherBody)) {
        otherBytes += otherBody.byteLength
        if (readers.includes(client)) ownBodies++
      }
    }
    const known = streamed.get(etag)
    const isFull = otherBytes > 0 && otherBytes + (isCached(body) ? 0 : body.byteLength) > maxStreamedBytes
    if (ownBodies >= maxBodiesPerClient || (isFull && !known)) return undefined
    const entry = known ?? { body: new WeakRef(body), readers: [] }
    streamed.set(etag, entry)
    entry.readers.push(client)
    return entry
  }

  /** Streams a large body: if each Response copied it, memory would hold it many times. */
  function streamBody(body: Uint8Array, etag: string, client: string): ReadableStream {
    const entry = addReader(body, etag, client)
    if (!entry) throw new ApiError('unavailable', { reason: 'slow readers', headers: { 'Retry-After': '5' } })
    const { readable, writable } = new FixedLengthStream(body.byteLength)
    // Sends the bytes that other readers hold: `body` may be a second copy, which KV returned after memory evicted the list.
    void writeSlices(writable.getWriter(), entry.body.deref() ?? body)
      // Writing fails when the client disconnects: nobody needs to know.
      .catch(() => {})
      .finally(() => {
        entry.readers.splice(entry.readers.indexOf(client), 1)
        if (entry.readers.length === 0 && streamed.get(etag) === entry) streamed.delete(etag)
      })
    return readable
  }

  /**
   * @param list its ETag is strong and in quotes (RFC 9110 section 8.8.3)
   * @param headers the headers of the 200 and of the 304, with the ETag
   * @param client the ID of the partner's client
   * @throws ApiError with a 503 when the bodies of readers leave no room
   */
  return (
    request: Pick<Request, 'method' | 'headers'>,
    { body, etag }: { body: Uint8Array; etag: string },
    headers: Record<string, string>,
    client: string,
  ): Response => {
    if (matchesEtag(request.headers.get('If-None-Match'), etag)) {
      return new Response(null, { status: 304, headers })
    }
    const content =
      request.method === 'HEAD' ? null : body.byteLength > largeBodyBytes ? streamBody(body, etag, client) : body
    return new Response(content, { headers: { ...headers, 'Content-Type': 'application/json' } })
  }
}

/** Proxies that compress, such as Apache, add this to a tag, and send the longer tag back. */
const encodingSuffix = /(?:--?|;)(?:gzip|br|zstd|deflate)"$/

/** If-None-Match uses weak comparison (RFC 9110 section 13.1.2): `W/"x"` matches `"x"`. */
function matchesEtag(ifNoneMatch: string | null, etag: string): boolean {
  // Fast paths: no tag, and the tag as we sent it.
  if (ifNoneMatch === null) return false
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => {
    const tag = candidate.trim().replace(/^W\//, '')
    return tag === etag || tag.replace(encodingSuffix, '"') === etag
  })
}

/** Writes bytes in slices, and gives up when the reader is too slow. */
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
