// Random numbers that a seed repeats.

export interface Random {
  /** From `min` up to, but not including, `max`. */
  between: (min: number, max: number) => number
  /** An integer from 0 up to, but not including, `below`. */
  integer: (below: number) => number
  chance: (probability: number) => boolean
  /** A time to the next event, where `mean` is the mean time between events. */
  exponential: (mean: number) => number
  pick: <T>(from: readonly T[]) => T
  /** An independent sequence, so that one part of a simulation can change without changing the others. */
  fork: () => Random
}

/** Mulberry32: 32 bits of state, fast, and good enough for traffic. */
export function createRandom(seed: number): Random {
  let state = seed | 0

  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  return {
    between: (min, max) => min + next() * (max - min),
    integer: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    exponential: (mean) => -Math.log(1 - next()) * mean,
    pick: (from) => {
      if (from.length === 0) throw new Error('there is nothing to pick from')
      return from[Math.floor(next() * from.length)]!
    },
    fork: () => createRandom(Math.floor(next() * 2 ** 32)),
  }
}
