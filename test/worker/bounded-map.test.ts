import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBoundedMap } from '../../src/worker/bounded-map.ts'

test('counts an entry once that is set again, and evicts nothing for one that is larger than its size', () => {
  const map = createBoundedMap<string>(10, (_, value) => value.length)
  map.set('small', 'x')
  for (let count = 0; count < 100; count++) map.set('large', 'eight...')
  map.set('huge', 'x'.repeat(11))
  expect(['small', 'large', 'huge'].filter(map.get)).toEqual(['small', 'large'])
})

test('keeps the entries that were used last, in any order of calls', () => {
  const call = fc.tuple(
    fc.constantFrom('get' as const, 'set' as const, 'delete' as const),
    fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  )
  fc.assert(
    fc.property(fc.array(call, { minLength: 30 }), (calls) => {
      const map = createBoundedMap<string>(3)
      let used: string[] = []
      for (const [kind, key] of calls) {
        if (kind === 'set') map.set(key, key)
        else map[kind](key)
        const isHeld = kind === 'set' || (kind === 'get' && used.includes(key))
        used = [...used.filter((other) => other !== key), ...(isHeld ? [key] : [])].slice(-3)
      }
      expect([...map.values()].toSorted()).toEqual(used.toSorted())
    }),
  )
})
