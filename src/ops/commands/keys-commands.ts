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
    await printKeys(keys, await listKeyEntries(store, {}), run)
    if (!json) noteRestart(run)
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
    await printKeys(keys, await listKeyEntries(store, {}), run)
    if (!json) noteRestart(run)
  },

  log: createLogHandler('KEY', listKeyEntries),
}

async function printKeys(keys: KeyRing, entries: readonly ChangeEntry[], { target, clock, print, warn }: Run) {
  const known = await keys.list()
  const revived = findRevivedKeys(known, entries)
  const rows = known.map(({ kid, use, endsWithDeploy = false, startsWithDeploy = false }) => {
    const timeMs = readKidTimeMs(kid)
    const droppedAt = revived.find((key) => key.kid === kid)?.droppedAt ?? null
    return {
      kid,
      use,
      createdAt: timeMs === undefined ? null : formatIsoTime(timeMs / 1000),
      droppedAt: formatOptionalTime(droppedAt),
      endsWithDeploy,
      startsWithDeploy,
    }
  })
  const table = rows.map(({ kid, use, createdAt, droppedAt, endsWithDeploy, startsWithDeploy }) => ({
    KID: kid,
    USE: [
      use,
      droppedAt !== null && 'though dropped',
      endsWithDeploy && 'until the next deploy',
      startsWithDeploy && 'from the next deploy',
    ]
      .filter(Boolean)
      .join(', '),
    AGE: createdAt === null ? 'unknown' : formatAge(clock.nowMs() - Date.parse(createdAt)),
  }))
  const note = rows.length === 0 ? 'No key was created with `keys rotate`.' : undefined
  print({ value: rows, text: table, note })
  for (const key of revived) warn(`Warning: ${describeRevivedKey(key, target)}`)
}

/** The keys themselves are not in the database, so they are listed without it, too. */
async function readEntries({ target, withStore, warn }: Run): Promise<ChangeEntry[]> {
  try {
    return await withStore(target, (store) => listKeyEntries(store, {}))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    warn(`Warning: it is not known whether a key was dropped before: ${error.message}`)
    return []
  }
}

/** Wrangler reads .dev.vars only when it starts. */
function noteRestart({ target, warn }: Run): void {
  if (!target.remote) warn('Restart npm run dev to use the change.')
}
