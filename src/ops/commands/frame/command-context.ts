// The world outside, as far as commands use it: terminal, clock, stores, variables. A test passes its own.
// Modules that only some commands need are loaded when they are used.
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
  /** Shows what takes long. Undefined when stderr is no terminal. */
  progress?: Progress | undefined
  clock: Clock
  /** Opens the store of a target for `work`, and closes it. */
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
  /** Opens the secrets of the Worker, which are the signing keys. */
  openSecrets: (target: Target) => Promise<WorkerSecrets>
  /** Opens the dataset in which the Worker counts requests. */
  openUsage: (target: Target) => Promise<QueryUsage>
  /** Finds the address of the service, such as `https://catalog.example.com`. */
  findOrigin: (target: Target) => Promise<string>
  /** Finds who makes a change without --as: OPS_ACTOR, then git's user.email. */
  findActor: () => Promise<string | undefined>
  /** The words of the command line. */
  argv: readonly string[]
  /** The environment variables. */
  variables: Readonly<Record<string, string | undefined>>
  /** What the command has done so far. The command writes to it. */
  effect: Effect
}

interface Effect extends OutcomeTracker {
  /** What the operator does if stdout can't be written, and the output had something that is nowhere else, such as a secret. */
  ifOutputFails?: string | undefined
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
