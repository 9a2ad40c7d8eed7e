// Making a change of a partner or a signing key, together with its entry in the record.
import { isDeepStrictEqual } from 'node:util'
import { buildChangeStatement, selectEntry, selectNextEntry, type NextEntry } from '../../db/change-record-queries.ts'
import type { ChangeRequest } from '../../db/change-request.ts'
import type { Database } from '../../db/database.ts'
import { isSecretStored } from '../../db/partner-queries.ts'
import { findRefusal } from '../../db/refusal.ts'
import type { Store } from '../store/store.ts'
import type { Attribution } from './attribution.ts'
import { settle } from '../store/retry.ts'
import { UserError } from '../shared/user-error.ts'

/** Whether an entry, and the secret that came with it, is ours. Somebody else's may have the same place. */
async function isStored(
  read: Database,
  change: ChangeRequest,
  { actor, command, note }: Attribution,
  { id }: NextEntry,
): Promise<boolean> {
  if ('secretHash' in change) return isSecretStored(read, change.secretHash)
  const entry = await selectEntry(read, id)
  const ours = [change.kind, 'kid' in change ? change.kid : change.partner, actor, command, note]
  if (entry === undefined) return false
  return isDeepStrictEqual([entry.kind, entry.kid ?? entry.partner, entry.actor, entry.command, entry.note], ours)
}

/** Each attempt fails only because another one succeeded. */
const maxAttempts = 10

/**
 * Makes a change and its entry in one statement.
 * @param decide returns undefined when there is nothing to change. Runs again when another change came in between.
 * @returns whether there was a change.
 */
export async function writeRecorded(
  store: Pick<Store, 'read' | 'commit' | 'noteOutcome'>,
  attribution: Attribution,
  decide: () => Promise<ChangeRequest | undefined>,
): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // Before `decide` reads: the entry is refused when anything was changed since.
    const next = await selectNextEntry(store.read)
    const change = await decide()
    if (change === undefined) return false
    try {
      const isMade = await settle(
        store,
        async () => {
          await store.commit.run(await buildChangeStatement(change, attribution, next))
          return true
        },
        async () => (await isStored(store.read, change, attribution, next)) || undefined,
      )
      return isMade === true
    } catch (error) {
      if (findRefusal(error) !== 'entry_order') throw error
    }
  }
  throw new UserError('Other changes of partners and keys came in between each time. Nothing was changed: try again.')
}
