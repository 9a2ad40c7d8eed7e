// Reads that a command can do without, when somebody waits because something leaked.
import { UserError } from '../../shared/user-error.ts'
import type { Store } from '../../store/store.ts'
import type { Run } from './run.ts'

/** Cloudflare's API waits for minutes for a database that hangs. */
const patienceMs = 20_000

/** @throws UserError when the store can't be used, or does not answer within twenty seconds. */
export async function readQuickly<T>({ withStore, target }: Run, read: (store: Store) => Promise<T>): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>()
  const problem = `the database does not answer within ${patienceMs / 1000} s.`
  const timer = setTimeout(() => reject(new UserError(problem)), patienceMs)
  try {
    return await Promise.race([withStore(target, read), deadline])
  } finally {
    clearTimeout(timer)
  }
}
