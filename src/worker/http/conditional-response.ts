// Answers with a body of JSON: with a 304 if the client knows the ETag, and with a stream if the body is large.
import { withDeadline } from '../deadline.ts'
import { ApiError } from './api-error.ts'

/** A larger body is streamed in slices. */
const largeBodyBytes = 512 * 1024
const sliceBytes = 64 * 1024

/** A client that reads nothing for this long is disconnected: its body stays in memory until then. */
const stallMs = 30_000
/** A client whose average is slower than this is disconnected, too: 32 KB a second. */
const minBytesPerMs = 32
/** A client that still receives this many other large bodies that the cache does not hold gets a 503. */
const maxBodiesPerClient = 2

export type RespondConditionally = ReturnType<typeof createRespondConditionally>

/**
 * Returns a function that creates responses, and limits the memory for large bodies that clients are still receiving. Such a response is
 * called a reader.
 * @param maxStreamedBytes the limit for the large bodies of all readers. A body counts once for all its readers, and not if it is in the cache
 * @param isCached tells if the cache holds a body
 */
export function createRespondConditionally(maxStreamedBytes: number, isCached: (body: Uint8Array) => boolean) {
  /** The large bodies by ETag, with each reader's client ID. The references are weak, because nothing reports a cancelled request. */
  const streamedBodies = new Map<string, { body: WeakRef<Uint8Array>; readers: string[] }>()

  /**
   * Adds a reader of a large body. A body with a reader, or the only body that takes memory, always has room.
   * @returns the entry of the body; undefined if the body has no room, or if the client still receives too many other bodies that are not in the cache
   */
  function addReader(body: Uint8Array, etag: string, clientId: string) {
    let otherBytes = 0
    let otherBodiesOfClient = 0
    for (const [otherEtag, otherEntry] of streamedBodies) {
      const otherBody = otherEntry.body.deref()
      if (otherBody === undefined) streamedBodies.delete(otherEtag)
      else if (otherEtag !== etag && !isCached(otherBody)) {
        otherBytes += otherBody.byteLength
        if (otherEntry.readers.includes(clientId)) otherBodiesOfClient++
      }
    }
    const existingEntry = streamedBodies.get(etag)
    const addedBytes = isCached(body) ? 0 : body.byteLength
    const hasRoom = existingEntry !== undefined || otherBytes === 0 || otherBytes + addedBytes <= maxStreamedBytes
    if (!hasRoom || otherBodiesOfClient >= maxBodiesPerClient) return undefined
    const entry = existingEntry ?? { body: new WeakRef(body), readers: [] }
    streamedBodies.set(etag, entry)
    entry.readers.push(clientId)
    return entry
  }

  /** Streams a large body, so that all responses share its bytes: a Response that gets the bytes copies them. @throws ApiError if `addReader` refuses */
  function streamBody(body: Uint8Array, etag: string, clientId: string): ReadableStream {
    const entry = addReader(body, etag, clientId)
    if (!entry) throw new ApiError('unavailable', { reason: 'slow readers', headers: { 'Retry-After': '5' } })
    const { readable, writable } = new FixedLengthStream(body.byteLength)
    // Sends the bytes that other readers already hold. `body` may be a second copy of them, which was read from KV.
    void writeSlices(writable.getWriter(), entry.body.deref() ?? body)
      // A client that disconnects is no problem to report.
      .catch(() => {})
      .finally(() => {
        entry.readers.splice(entry.readers.indexOf(clientId), 1)
        if (entry.readers.length === 0 && streamedBodies.get(etag) === entry) streamedBodies.delete(etag)
      })
    return readable
  }

  /**
   * Creates the response: a 304 if the client has the list with this ETag, otherwise a 200.
   * @param headers are sent with either status, and include the ETag
   * @throws ApiError with a 503 when unfinished responses leave no memory for this body, or when the client still receives two others
   */
  return (
    request: Pick<Request, 'method' | 'headers'>,
    { body, etag }: { body: Uint8Array; etag: string },
    headers: Record<string, string>,
    clientId: string,
  ): Response => {
    if (matchesEtag(request.headers.get('If-None-Match'), etag)) {
      return new Response(null, { status: 304, headers })
    }
    const createOkResponse = (content: ReadableStream | Uint8Array | null) =>
      new Response(content, { headers: { ...headers, 'Content-Type': 'application/json' } })
    if (request.method === 'HEAD') return createOkResponse(null)
    return createOkResponse(body.byteLength > largeBodyBytes ? streamBody(body, etag, clientId) : body)
  }
}

/** Proxies that compress, such as Apache, add this suffix to a tag, and send the longer tag back to us. */
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

/** Writes bytes in slices. Disconnects a reader that is too slow. May reject when a reader has disconnected. */
async function writeSlices(writer: WritableStreamDefaultWriter, bytes: Uint8Array): Promise<void> {
  const endsAtMs = Date.now() + stallMs + bytes.byteLength / minBytesPerMs
  try {
    for (let start = 0; start < bytes.byteLength; start += sliceBytes) {
      const waitMs = Math.min(stallMs, endsAtMs - Date.now())
      await withDeadline(writer.write(bytes.subarray(start, start + sliceBytes)), waitMs, 'The reader')
    }
    await writer.close()
  } catch (error) {
    await writer.abort(error)
  }
}
