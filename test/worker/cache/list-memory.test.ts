import { expect, test } from 'vitest'
import { createListMemory, type ListMemory } from '../../../src/worker/cache/list-memory.ts'

const kilobyte = 1024
const maxBytes = 24 * kilobyte
const makeList = (bytes: number) => ({
  body: new Uint8Array(bytes),
  etag: '"x"',
  revision: 1,
  currentAtMs: 0,
  storedAtMs: 0,
})
const listHeld = (memory: ListMemory, keys: string[]) => keys.filter((key) => memory.get(key))

test('evicts the least recently used lists beyond maxBytes', () => {
  const memory = createListMemory(maxBytes)
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
  for (const key of keys) {
    memory.set(key, makeList(kilobyte))
    memory.get('key-0')
  }
  // 1,024 bytes and about 526 more per entry: 15 fit.
  expect(listHeld(memory, keys)).toEqual(['key-0', ...keys.slice(-14)])
})

test('counts a list once that is set again', () => {
  const memory = createListMemory(maxBytes)
  memory.set('small', makeList(1))
  for (let count = 0; count < 100; count++) memory.set('large', makeList(10 * kilobyte))
  expect(listHeld(memory, ['small', 'large'])).toEqual(['small', 'large'])
})

test('does not hold a list that is larger than maxBytes, and evicts nothing for it', () => {
  const memory = createListMemory(maxBytes)
  memory.set('small', makeList(1))
  memory.set('huge', makeList(25 * kilobyte))
  expect(listHeld(memory, ['small', 'huge'])).toEqual(['small'])
})
