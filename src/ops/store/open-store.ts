import { DrizzleQueryError } from 'drizzle-orm/errors'
import { withLocalStore } from './local-store.ts'
import { withRemoteStore } from './remote-store.ts'
import type { Store } from './store.ts'
import type { Target } from '../shared/target.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when the store is missing, not migrated, or can't be used.
 */
export async function withStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  try {
    return await (target.remote ? withRemoteStore(target, work) : withLocalStore(target, work))
  } catch (error) {
    // Its message has the parameters of a query, such as the hash of a secret.
    throw error instanceof DrizzleQueryError ? error.cause : error
  }
}
