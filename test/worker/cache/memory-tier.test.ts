import { expect, test } from 'vitest'
import { readFromMemory, writeToMemory } from '../../../src/worker/cache/memory-tier.ts'

const entry = (bytes: number) => ({ body: new Uint8Array(bytes), etag: '"x"', storedAtMs: 0 })
const megabyte = 1024 * 1024
const held = (keys: string[]) => keys.filter((key) => readFromMemory(key))

test('memory is bounded in bytes, and what was not read for longest makes room', () => {
  const keys = Array.from({ length: 40 }, (_, index) => `key-${index}`)
  for (const key of keys) {
    writeToMemory(key, entry(megabyte))
    readFromMemory('key-0')
  }
  expect(held(keys)).toEqual(['key-0', ...keys.slice(-22)])
})

test('a key that is written again counts once', () => {
  writeToMemory('small', entry(1))
  for (let count = 0; count < 100; count++) writeToMemory('large', entry(10 * megabyte))
  expect(held(['small', 'large'])).toEqual(['small', 'large'])
})

test('what is larger than the bound is not held, and neither is anything in its place', () => {
  writeToMemory('small', entry(1))
  writeToMemory('huge', entry(25 * megabyte))
  expect(held(['small', 'huge'])).toEqual(['small'])
})
