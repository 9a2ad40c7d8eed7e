// Everything that commands need besides their input. A test passes its own. Modules that only some commands need are loaded late.
import { systemClock, type Clock } from '../../shared/clock.ts'
import { readGitEmail } from '../../store/checkout.ts'
import type { OutcomeTracker } from '../../store/outcome.ts'
import type { Store } from '../../store/store.ts'
import type { QueryUsage } from '../../store/cloudflare-api.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import type { Target } from '../../shared/target.ts'
import type { Io } from '../../terminal/io.ts'
import type { Progress } from '../../terminal/progress.ts'

export interface CommandContext {
  io: Io
  /** Undefined when stderr is no terminal. */
  progress?: Progress | undefined
  clock: Clock
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
  openSecrets: (target: Target) => Promise<WorkerSecrets>
  openUsage: (target: Target) => Promise<QueryUsage>
  findOrigin: (target: Target) => Promise<string>
  /** The actor that the environment names. */
  findActor: () => Promise<string | undefined>
  /** The words of the command line. */
  argv: readonly string[]
  /** The variables of the environment. */
  variables: Readonly<Record<string, string | undefined>>
  /** What the command has done so far. The command writes to it. */
  effect: Effect
}

interface Effect extends OutcomeTracker {
  /** How to get what only the output had, such as a secret, if stdout can't be written. */
  fix?: string | undefined
}

/** The context of the program: real stores, real keys, the real time. */
export function createCommandContext(io: Io, argv: readonly string[]): CommandContext {
  const variables = process.env
  return {
    io,
    clock: systemClock,
    withStore: async (target, work) =>
      target.remote
        ? (await import('../../store/remote-store.ts')).withRemoteStore(target, work)
        : (await import('../../store/local-store.ts')).withLocalStore(target, work),
    openSecrets: async (target) =>
      target.remote
        ? (await import('../../store/worker-secrets.ts')).openWorkerSecrets(target)
        : (await import('../../store/dev-vars.ts')).openDevVars(),
    openUsage: async (target) => (await import('../../store/cloudflare-api.ts')).openUsageDataset(target),
    findOrigin: async (target) => (await import('../../store/deployment.ts')).findOrigin(target),
    findActor: async () => variables['OPS_ACTOR'] || (await readGitEmail()),
    argv,
    variables,
    effect: { outcome: 'unchanged' },
  }
}
