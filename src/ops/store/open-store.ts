import { withLocalStore } from './local-store.ts'
import { withRemoteStore } from './remote-store.ts'
import type { Changes } from './outcome.ts'
import type { Store } from './store.ts'
import type { Target } from '../shared/target.ts'

/**
 * Opens the store for as long as `work` takes.
 * @param changes gets what became of the changes, at each moment.
 * @throws UserError when the store is missing, not migrated, or can't be used.
 */
export async function withStore<T>(
  target: Target,
  work: (store: Store) => Promise<T>,
  changes: Changes = { target, outcome: 'unchanged' },
): Promise<T> {
  changes.target = target
  return (target.remote ? withRemoteStore : withLocalStore)(target, work, changes)
}
