import type { WorkerSecret, WorkerSecrets } from '../../../src/ops/store/worker-secrets.ts'

export const live = { isLive: true, isEverywhere: true, isKept: true }
export const onlyLive = { ...live, isKept: false }
export const onlyLatest = { isLive: false, isEverywhere: false, isKept: true }

/** The secrets of a Worker, in memory. */
export function createMemorySecrets(...known: WorkerSecret[]): WorkerSecrets & { values: Map<string, string> } {
  const values = new Map(known.map(({ name }) => [name, 'x']))
  return {
    values,
    list: async () => [...values.keys()].map((name) => known.find((one) => one.name === name) ?? { name, ...live }),
    checkEditable: async () => {},
    put: async (secrets) => {
      for (const [name, value] of Object.entries(secrets)) {
        if (value === null) values.delete(name)
        else values.set(name, value)
      }
    },
  }
}
