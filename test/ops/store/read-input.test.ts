import { expect, test } from 'vitest'
import { readInput } from '../../../src/ops/store/read-input.ts'

test('an input of more than 100 MB is refused before it is read whole', async () => {
  let count = 0
  const piece = new Uint8Array(1_000_000)
  async function* produce(pieces: number) {
    for (count = 0; count < pieces; count++) yield piece
  }
  expect(await readInput('-', produce(100))).toHaveLength(100_000_000)
  await expect(readInput('-', produce(300))).rejects.toThrow('This command reads at most 100 MB: the input has more.')
  expect(count).toBe(100)
})
