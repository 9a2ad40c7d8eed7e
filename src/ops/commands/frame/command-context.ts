// Connects commands with the world outside: terminal, clock, stores, variables. A test passes a context of its own.
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
  /** Shows what the command is doing, while that takes long. Undefined with --json, or when stderr can't show it. */
  progress?: Progress | undefined
  clock: Clock
  /** Opens the store of a target, runs `work`, and closes the store. */
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
  /** Opens the secrets of the Worker, which are the signing keys. */
  openSecrets: (target: Target) => Promise<WorkerSecrets>
  /** Opens the dataset in which the Worker counts requests. */
  openUsage: (target: Target) => Promise<QueryUsage>
  /** Finds the address of the service, such as `https://catalog.example.com`. @throws UserError when no address is found. */
  requireOrigin: (target: Target) => Promise<string>
  /** Finds who makes a change without --as: OPS_ACTOR, then git's user.email. */
  findActor: () => Promise<string | undefined>
  argv: readonly string[]
  /** The environment variables. */
  variables: Readonly<Record<string, string | undefined>>
  /** Says whether the command has changed something so far. `ifOutputFails` is from the last printed `Output`. */
  effect: OutcomeTracker & { ifOutputFails?: string | undefined }
}

/** Makes the context of the real program. Imports modules when they are used, because most commands need only some of them. */
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
    requireOrigin: async (target) => (await import('../../store/deployment.ts')).requireOrigin(target),
    findActor: async () => variables['OPS_ACTOR'] || (await readGitEmail()),
    argv,
    variables,
    effect: { outcome: 'unchanged' },
  }
}
