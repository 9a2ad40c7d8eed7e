// A slice of the fault matrix with every pair of conditions, and one column of every table. The slow tests run the rest, and sign-ins.
import { expect, test } from 'vitest'
import {
  faultMatrix,
  lastColumnOfEachTable,
  pairwiseFaults,
  testFaults,
  testMissingColumns,
  type FaultCase,
} from './support/fault-matrix.ts'

testFaults(pairwiseFaults)
testMissingColumns(lastColumnOfEachTable)

test('the slice has every pair of conditions that the matrix has', () => {
  const listPairs = (cases: readonly FaultCase[]) =>
    new Set(
      cases.flatMap(({ d1, kv, cache }) => [
        `D1 ${d1.name}, KV ${kv.name}`,
        `D1 ${d1.name}, cache ${cache.name}`,
        `KV ${kv.name}, cache ${cache.name}`,
      ]),
    )
  expect(listPairs(pairwiseFaults)).toEqual(listPairs(faultMatrix))
  expect(pairwiseFaults.length).toBeLessThan(faultMatrix.length / 4)
})
