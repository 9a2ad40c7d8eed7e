// Everything that commands need in addition to their input. A test passes its own. What a command may not need is loaded late.
import { systemClock, type Clock } from '../core/clock.ts'
import { watchInterruption } from '../interruption.ts'
import type { Environment } from '../store/environment.ts'
import { readGitEmail } from '../store/checkout.ts'
import type { Changes } from '../store/outcome.ts'
import type { Store } from '../store/store.ts'
import type { QueryUsage } from '../store/usage-dataset.ts'
import type { WorkerSecrets } from '../store/worker-secrets.ts'
import type { Target } from '../shared/target.ts'
import type { Io } from '../terminal/io.ts'

export interface CommandContext {
  io: Io
  clock: Clock
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
  openSecrets: (target: Target) => Promise<WorkerSecrets>
  openUsage: (target: Target) => Promise<QueryUsage>
  inspectEnvironment: (target: Target) => Promise<Environment>
  findOrigin: (target: Target) => Promise<string>
  /** The actor that the environment names. */
  findActor: () => Promise<string | undefined>
  /** The words of the command line. */
  argv: readonly string[]
  /** The variables of the environment. */
  variables: Readonly<Record<string, string | undefined>>
}

/**
 * The context of the program: real stores, real keys, the real time.
 * @param changes gets what became of the changes of the command, at each moment.
 */
export function createCommandContext(io: Io, argv: readonly string[], changes?: Changes): CommandContext {
  const variables = process.env
  return {
    io,
    clock: systemClock,
    withStore: async (target, work) => {
      const { withStore } = await import('../store/open-store.ts')
      const unwatch = changes && watchInterruption(changes)
      return withStore(target, work, changes).finally(unwatch)
    },
    openSecrets: async (target) => (await import('../store/open-secrets.ts')).openSecrets(target),
    openUsage: async (target) => (await import('../store/usage-dataset.ts')).openUsageDataset(target),
    inspectEnvironment: async (target) => (await import('../store/environment.ts')).inspectEnvironment(target),
    findOrigin: async (target) => (await import('../store/origin.ts')).findOrigin(target),
    findActor: async () => variables['OPS_ACTOR'] || (await readGitEmail()),
    argv,
    variables,
  }
}
