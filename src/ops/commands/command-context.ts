// Everything that commands need in addition to their arguments. A test passes its own.
import { checkAttribution, type Attribution } from '../core/attribution.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { createDeployedKeyRing } from '../core/deployed-keys.ts'
import type { KeyRing } from '../core/key-ring.ts'
import { createLocalKeyRing } from '../core/local-keys.ts'
import { devVarsFile, openDevVars } from '../store/dev-vars.ts'
import { inspectEnvironment, type Environment } from '../store/environment.ts'
import { readGitEmail } from '../store/git-email.ts'
import { withStore } from '../store/open-store.ts'
import type { Store } from '../store/store.ts'
import { quoteWords, type Target } from '../shared/target.ts'
import { openUsageDataset, type QueryUsage } from '../store/usage-dataset.ts'
import { openWorkerSecrets } from '../store/worker-secrets.ts'
import type { Io } from '../terminal/io.ts'

export interface CommandContext {
  io: Io
  clock: Clock
  withStore: <T>(target: Target, work: (store: Store) => Promise<T>) => Promise<T>
  openKeyRing: (target: Target) => KeyRing
  openUsage: (target: Target) => Promise<QueryUsage>
  inspectEnvironment: (target: Target) => Promise<Environment>
  /** The actor that the environment names. */
  findActor: () => Promise<string | undefined>
  /** The words of the command line. */
  argv: readonly string[]
}

/** The context of the program: real stores, real keys, the real time. */
export function createCommandContext(io: Io, argv: readonly string[]): CommandContext {
  const clock = systemClock
  const openKeyRing = (target: Target) =>
    target.remote
      ? createDeployedKeyRing(openWorkerSecrets(target), target, clock)
      : createLocalKeyRing(openDevVars(devVarsFile), clock)
  return {
    io,
    clock,
    withStore,
    openKeyRing,
    openUsage: openUsageDataset,
    inspectEnvironment,
    findActor: async () => process.env['OPS_ACTOR'] || (await readGitEmail()),
    argv,
  }
}

export interface OutputOptions extends Target {
  json?: boolean
}

/** The options of a command that changes something. */
export interface ChangeOptions extends OutputOptions {
  as?: string
  note?: string
  /** Skips the question of `confirm`. */
  yes?: boolean
}

/**
 * @param unrecorded a word of the command line that the record must not hold, such as a person's address.
 * @throws UserError when a deployed environment would be changed by nobody, or a text can't be recorded.
 */
export async function readAttribution(
  { findActor, argv }: Pick<CommandContext, 'findActor' | 'argv'>,
  options: ChangeOptions,
  unrecorded?: string,
): Promise<Attribution> {
  const command = quoteWords(argv.map((word) => (word === unrecorded ? '…' : word)))
  return checkAttribution(options, command, options.as === undefined ? await findActor() : undefined)
}
