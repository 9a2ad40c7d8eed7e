import type { WorkerSecrets } from '../../../src/ops/store/worker-secrets.ts'

/** The secrets of a Worker whose latest version is live, in memory. */
export function createMemorySecrets(...names: string[]): WorkerSecrets & { values: Map<string, string> } {
  const values = new Map(names.map((name) => [name, 'x']))
  return {
    values,
    list: async () => ({ live: [...values.keys()], latest: [...values.keys()] }),
    checkEditable: async () => {},
    put: async (secrets) => {
      for (const [name, value] of Object.entries(secrets)) {
        if (value === null) values.delete(name)
        else values.set(name, value)
      }
    },
  }
}
