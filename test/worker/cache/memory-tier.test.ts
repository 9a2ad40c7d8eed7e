import { expect, test } from 'vitest'
import { createMemoryTier, type MemoryTier } from '../../../src/worker/cache/memory-tier.ts'

const entry = (bytes: number) => ({ body: new Uint8Array(bytes), etag: '"x"', storedAtMs: 0 })
const kilobyte = 1024
const maxBytes = 24 * kilobyte
const listHeld = (memory: MemoryTier, keys: string[]) => keys.filter((key) => memory.read(key))

test('evicts the least recently used entries beyond maxBytes', () => {
  const memory = createMemoryTier({ maxBytes })
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
  for (const key of keys) {
    memory.write(key, entry(kilobyte))
    memory.read('key-0')
  }
  // 1,024 bytes and about 526 more per entry: 15 fit.
  expect(listHeld(memory, keys)).toEqual(['key-0', ...keys.slice(-14)])
})

test('counts an entry once that is written again', () => {
  const memory = createMemoryTier({ maxBytes })
  memory.write('small', entry(1))
  for (let count = 0; count < 100; count++) memory.write('large', entry(10 * kilobyte))
  expect(listHeld(memory, ['small', 'large'])).toEqual(['small', 'large'])
})

test('does not hold an entry that is larger than maxBytes, and evicts nothing for it', () => {
  const memory = createMemoryTier({ maxBytes })
  memory.write('small', entry(1))
  memory.write('huge', entry(25 * kilobyte))
  expect(listHeld(memory, ['small', 'huge'])).toEqual(['small'])
})
