// The code of ops keys …
import { readKidTimeMs } from '../../crypto/signing-keys.ts'
import { listKeyEntries, type ChangeEntry } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import {
  describeRevivedKey,
  dropKey,
  findDroppableKey,
  findRevivedKeys,
  rotateKeys,
  type KeyRing,
} from '../core/key-ring.ts'
import type { Store } from '../store/store.ts'
import { UserError } from '../shared/user-error.ts'
import { formatAge } from '../terminal/age.ts'
import type { Handlers } from './declaration.ts'
import type { keysDeclarations } from './keys-declarations.ts'
import { createLogHandler } from './change-log.ts'
import type { Run } from './run.ts'

export const keysCommands: Handlers<typeof keysDeclarations> = {
  async rotate({ wait, json }, { store, attribution, ...run }) {
    const waitSeconds = wait ?? 60
    const keys = await run.openKeyRing(run.target)
    await rotateKeys(keys, store, attribution, {
      waitSeconds,
      onWait: (kid, passedSeconds) =>
        run.update(`${kid} verifies, and signs in ${waitSeconds} s`, passedSeconds, waitSeconds),
      confirmReplacement: () =>
        run.confirm('JWT_KEYS was not set by this command and can’t be read back: live tokens will be refused.'),
    })
    await printChanged(keys, store, json, run)
  },

  async list(_, run) {
    const keys = await run.openKeyRing(run.target)
    const hasKeys = (await keys.list()).length > 0
    await printKeys(keys, hasKeys ? await readEntries(run) : [], run)
  },

  async drop({ kid, json }, { store, attribution, ...run }) {
    const keys = await run.openKeyRing(run.target)
    const key = await findDroppableKey(keys, kid, run.target)
    const effect = key.use === 'waits' ? 'It has not signed a token yet.' : 'Tokens that it signed will be refused.'
    await run.confirm(`The key ${kid} will be deleted. ${effect}`)
    await dropKey(keys, store, attribution, key)
    await printChanged(keys, store, json, run)
  },

  log: createLogHandler('KEY', listKeyEntries),
}

async function printKeys(keys: KeyRing, entries: readonly ChangeEntry[], { target, clock, print, warn }: Run) {
  const known = await keys.list()
  const revived = findRevivedKeys(known, entries)
  const rows = known.map(({ kid, use, endsWithDeploy = false, startsWithDeploy = false }) => {
    const timeMs = readKidTimeMs(kid) ?? null
    const droppedAt = revived.find((key) => key.kid === kid)?.droppedAt ?? null
    const notes = [
      droppedAt !== null && ', though dropped',
      endsWithDeploy && ', until the next deploy',
      startsWithDeploy && ', from the next deploy',
    ]
    const [createdAt, age] =
      timeMs === null ? [null, 'unknown'] : [formatIsoTime(timeMs / 1000), formatAge(clock.nowMs() - timeMs)]
    return {
      value: { kid, use, createdAt, droppedAt: formatOptionalTime(droppedAt), endsWithDeploy, startsWithDeploy },
      text: { KID: kid, USE: [use, ...notes.filter(Boolean)].join(''), AGE: age },
    }
  })
  print({
    value: rows.map(({ value }) => value),
    text: rows.map(({ text }) => text),
    note: rows.length === 0 ? 'No key was created with `keys rotate`.' : undefined,
  })
  for (const key of revived) warn(`Warning: ${describeRevivedKey(key, target)}`)
}

/** Wrangler reads .dev.vars only when it starts. */
async function printChanged(keys: KeyRing, store: Store, isJson: boolean, run: Run): Promise<void> {
  await printKeys(keys, await listKeyEntries(store), run)
  if (!isJson && !run.target.remote) run.warn('Restart npm run dev to use the change.')
}

/** The keys themselves are not in the database, so they are listed without it, too. */
async function readEntries({ target, withStore, warn }: Run): Promise<ChangeEntry[]> {
  try {
    return await withStore(target, (store) => listKeyEntries(store))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    warn(`Warning: it is not known whether a key was dropped before: ${error.message}`)
    return []
  }
}
