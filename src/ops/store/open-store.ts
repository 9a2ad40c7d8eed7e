import { withLocalStore } from './local-store.ts'
import { withRemoteStore } from './remote-store.ts'
import type { Store } from './store.ts'
import type { Target } from '../shared/target.ts'

/**
 * Opens the store for as long as `work` takes.
 * @throws UserError when the store is missing, not migrated, or can't be used.
 */
export function withStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  return target.remote ? withRemoteStore(target, work) : withLocalStore(target, work)
}
