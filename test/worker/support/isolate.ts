import { deleteFromMemory, writeToMemory } from '../../../src/worker/cache/memory-tier.ts'

const filler = { body: new Uint8Array(24 * 1024 * 1024 - 1024), etag: '', storedAtMs: 0 }

/** As if the next request came to an isolate that holds nothing: what fills all of its memory makes the rest go. */
export function forgetCachedEntries(): void {
  writeToMemory('filler', filler)
  deleteFromMemory('filler')
}
