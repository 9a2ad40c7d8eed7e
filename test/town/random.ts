// Random numbers from a seed. Each part of the town has its own, so that a change of one part moves the others less.

export type Random = ReturnType<typeof createRandom>

/** @param seed any text. */
export function createRandom(seed: string) {
  // FNV-1a, then Mulberry32.
  let state = 0x811c9dc5
  for (const character of seed) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193)
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(next() * count)
  return {
    /** From 0 to 1. */
    next,
    /** An integer from 0, smaller than `count`. */
    below,
    between: (least: number, most: number) => least + next() * (most - least),
    chance: (probability: number) => next() < probability,
    /** A waiting time with this mean, short more often than long. */
    around: (mean: number) => -Math.log(1 - next()) * mean,
    pick: <T>(items: readonly T[]): T => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error('nothing to pick')
      return item
    },
  }
}
