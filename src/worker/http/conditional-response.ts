// JSON bytes as a response: 304 for a known ETag, a stream for large bodies.

/** Up to this size, copying the body into the Response is faster. Above it, a stream of slices avoids the copy. */
const maxCopiedBytes = 512 * 1024
const sliceBytes = 64 * 1024

/**
 * @param etag a strong entity tag, with its quotes (RFC 9110 section 8.8.3)
 * @param headers headers of both the 200 and the 304
 */
export function respondConditionally(
  ifNoneMatch: string | undefined,
  { body, etag }: { body: Uint8Array; etag: string },
  headers: Record<string, string>,
): Response {
  if (matchesEtag(ifNoneMatch, etag)) return new Response(null, { status: 304, headers: { ETag: etag, ...headers } })
  const content = body.byteLength > maxCopiedBytes ? streamBytes(body) : body
  return new Response(content, { headers: { ETag: etag, ...headers, 'Content-Type': 'application/json' } })
}

/** If-None-Match uses weak comparison (RFC 9110 section 13.1.2): `W/"x"` matches `"x"`. */
function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag)
}

function streamBytes(bytes: Uint8Array): ReadableStream {
  const { readable, writable } = new FixedLengthStream(bytes.byteLength)
  // Writing fails when the client disconnects. There is nobody left to tell.
  void writeSlices(writable.getWriter(), bytes).catch(() => {})
  return readable
}

async function writeSlices(writer: WritableStreamDefaultWriter, bytes: Uint8Array): Promise<void> {
  for (let start = 0; start < bytes.byteLength; start += sliceBytes) {
    await writer.write(bytes.subarray(start, start + sliceBytes))
  }
  await writer.close()
}
