import { describe, expect, test } from 'vitest'
import { createListMemory, type ListMemory } from '../../../src/worker/cache/list-memory.ts'

const kilobyte = 1024
const largeBodyBytes = 512 * kilobyte
const bounds = { maxBytes: 24 * kilobyte, largeBodyBytes }
const makeList = (bytes: number) => ({
  body: new Uint8Array(bytes),
  etag: '"x"',
  revision: 1,
  currentAtMs: 0,
  storedAtMs: 0,
})
const listHeld = (memory: ListMemory, keys: string[]) => keys.filter((key) => memory.get(key))

test('evicts the least recently used lists beyond maxBytes', () => {
  const memory = createListMemory(bounds)
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
  for (const key of keys) {
    memory.set(key, makeList(kilobyte))
    memory.get('key-0')
  }
  // 1,024 bytes and about 526 more per entry: 15 fit.
  expect(listHeld(memory, keys)).toEqual(['key-0', ...keys.slice(-14)])
})

test('counts a list once that is set again', () => {
  const memory = createListMemory(bounds)
  memory.set('small', makeList(1))
  for (let count = 0; count < 100; count++) memory.set('large', makeList(10 * kilobyte))
  expect(listHeld(memory, ['small', 'large'])).toEqual(['small', 'large'])
})

test('does not hold a list that is larger than maxBytes, and evicts nothing for it', () => {
  const memory = createListMemory(bounds)
  memory.set('small', makeList(1))
  memory.set('huge', makeList(25 * kilobyte))
  expect(listHeld(memory, ['small', 'huge'])).toEqual(['small'])
})

describe('a large list that was evicted', () => {
  const limits = { maxBytes: 2 * largeBodyBytes, largeBodyBytes }
  const bytes = largeBodyBytes + 1

  test('is found again, and held, while a reader keeps its body alive', () => {
    const memory = createListMemory(limits)
    const readers = [makeList(bytes), makeList(bytes)] as const
    memory.set('first', readers[0])
    memory.set('second', readers[1])
    expect(memory.get('first')?.body).toBe(readers[0].body)
    expect(memory.get('second')?.body).toBe(readers[1].body)
  })

  test('is found again if it is larger than maxBytes', () => {
    const memory = createListMemory(limits)
    const huge = makeList(3 * largeBodyBytes)
    memory.set('huge', huge)
    expect(memory.get('huge')?.body).toBe(huge.body)
  })

  test('is not found after it was deleted or replaced', () => {
    const memory = createListMemory(limits)
    const [old, other, next] = [makeList(bytes), makeList(bytes), { ...makeList(bytes), revision: 2 }]
    memory.set('key', old)
    memory.set('other', other)
    memory.set('key', next)
    memory.set('other', other)
    expect(memory.get('key')?.revision).toBe(2)
    memory.delete('key')
    expect(memory.get('key')).toBeUndefined()
  })
})
