// JSON bytes as a response: 304 for a known ETag, a stream for large bodies.
import { ApiError } from './api-error.ts'

const sliceBytes = 64 * 1024

/** Disconnects a client that read nothing since the last check, because it keeps the body in memory. */
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

/** A large body, and how many readers are receiving it. */
interface StreamedBody {
  body: WeakRef<Uint8Array>
  readers: number
}

interface StreamBounds {
  /** A larger body is streamed in slices. */
  largeBodyBytes: number
  /** Limit for the large bodies that readers are receiving. Each body counts once. */
  maxStreamedBytes: number
}

export function createRespondConditionally({ largeBodyBytes, maxStreamedBytes }: StreamBounds): RespondConditionally {
  /** One entry per body. Weak, because a request that is cancelled never says so. */
  const streamed = new Set<StreamedBody>()

  /** Returns undefined when slow readers hold too many other bodies. */
  function addReader(body: Uint8Array): StreamedBody | undefined {
    let otherBytes = 0
    let entry: StreamedBody | undefined
    for (const each of streamed) {
      const other = each.body.deref()
      if (other === undefined) streamed.delete(each)
      else if (other === body) entry = each
      else otherBytes += other.byteLength
    }
    if (otherBytes > 0 && otherBytes + body.byteLength > maxStreamedBytes) return undefined
    entry ??= { body: new WeakRef(body), readers: 0 }
    streamed.add(entry)
    entry.readers++
    return entry
  }

  function removeReader(entry: StreamedBody): void {
    entry.readers--
    if (entry.readers === 0) streamed.delete(entry)
  }

  /** Copying a large body into each Response would multiply it. */
  function streamBody(body: Uint8Array): ReadableStream {
    const entry = addReader(body)
    if (!entry) throw new ApiError('unavailable', { reason: 'slow readers', headers: { 'Retry-After': '5' } })
    const { readable, writable } = new FixedLengthStream(body.byteLength)
    // Writing fails when the client disconnects. There is nobody left to tell.
    void writeSlices(writable.getWriter(), body)
      .catch(() => {})
      .finally(() => removeReader(entry))
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
    if (!hasProgress) void writer.abort().catch(() => {})
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
