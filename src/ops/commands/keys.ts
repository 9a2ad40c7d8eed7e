// ops keys …
import { abbreviate } from '../../abbreviate.ts'
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
import { readLog } from './change-log.ts'
import type { Output, Run } from './run.ts'
import { sinceFlag } from './shared-flags.ts'
import { verb } from './verb.ts'

const json = 'an array of the keys'

/** @throws UserError unless it is a number of seconds. */
function parseWait(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new UserError(`--wait must be a number of seconds, such as 60; it is ${abbreviate(text)}.`)
}

export const keys = {
  rotate: verb({
    help: 'let a new key sign; earlier keys still verify, so that live tokens stay valid',
    example: 'keys rotate',
    flags: {
      wait: {
        value: '<seconds>',
        help: 'with --remote: how long a new key spreads before it signs; 60 by default',
        parse: parseWait,
      },
    },
    changes: 'at-once',
    asks: 'that --remote asks before it replaces a key that was set by other means',
    json,
    async run({ wait }, { store, attribution, ...run }) {
      if (!run.target.remote && wait !== undefined) throw new UserError('--wait is for deployed keys: add --remote.')
      const waitSeconds = wait ?? 60
      const ring = await run.openKeyRing(run.target)
      await rotateKeys(ring, store, attribution, {
        waitSeconds,
        onWait: (kid, passedSeconds) =>
          run.update(`${kid} verifies, and signs in ${waitSeconds} s`, passedSeconds, waitSeconds),
        confirmReplacement: () =>
          run.confirm('JWT_KEYS was not set by this command and can’t be read back: live tokens will be refused.'),
      })
      return describeChanged(ring, store, run)
    },
  }),

  list: verb({
    help: 'list the keys and when they were made, the signing key first; never a key itself',
    example: 'keys list',
    store: 'itself',
    json,
    async run(_, run) {
      const ring = await run.openKeyRing(run.target)
      const hasKeys = (await ring.list()).length > 0
      return describeKeys(ring, hasKeys ? await readEntries(run) : [], run)
    },
  }),

  drop: verb({
    help: 'delete a key that no longer signs: tokens that it signed are refused from then on',
    example: 'keys drop KID',
    args: { kid: {} },
    changes: 'at-once',
    asks: 'that --remote asks',
    json,
    async run({ kid }, { store, attribution, ...run }) {
      const ring = await run.openKeyRing(run.target)
      const key = await findDroppableKey(ring, kid, run.target)
      const effect = key.use === 'waits' ? 'It has not signed a token yet.' : 'Tokens that it signed will be refused.'
      await run.confirm(`The key ${kid} will be deleted. ${effect}`)
      await dropKey(ring, store, attribution, key)
      return describeChanged(ring, store, run)
    },
  }),

  log: verb({
    help: 'show who changed keys, when and why',
    example: 'keys log',
    flags: { since: sinceFlag },
    json: 'an array, the newest entry first',
    progress: 'Reading the record',
    run: (input, { store }) => readLog('key', listKeyEntries, input, store),
  }),
}

async function describeKeys(ring: KeyRing, entries: readonly ChangeEntry[], run: Run): Promise<Output> {
  const { target, clock, warn } = run
  const known = await ring.list()
  const revived = findRevivedKeys(known, entries)
  const rows = known.map(({ kid, use, endsWithDeploy = false, startsWithDeploy = false }) => {
    const timeMs = readKidTimeMs(kid)
    const createdAt = timeMs === undefined ? null : formatIsoTime(timeMs / 1000)
    const droppedAt = formatOptionalTime(revived.find((key) => key.kid === kid)?.droppedAt ?? null)
    return { kid, use, createdAt, droppedAt, endsWithDeploy, startsWithDeploy }
  })
  for (const key of revived) warn(`Warning: ${describeRevivedKey(key, target)}`)
  return {
    data: rows,
    text: rows.map(({ kid, use, createdAt, droppedAt, endsWithDeploy, startsWithDeploy }) => {
      const notes = [
        droppedAt !== null && ', though dropped',
        endsWithDeploy && ', until the next deploy',
        startsWithDeploy && ', from the next deploy',
      ]
      const age = createdAt === null ? 'unknown' : formatAge(clock.nowMs() - Date.parse(createdAt))
      return { kid, use: [use, ...notes.filter(Boolean)].join(''), age }
    }),
    note: rows.length === 0 ? 'No key was created with `keys rotate`.' : undefined,
  }
}

/** Wrangler reads .dev.vars only when it starts. */
async function describeChanged(ring: KeyRing, store: Store, run: Run): Promise<Output> {
  const output = await describeKeys(ring, await listKeyEntries(store), run)
  return run.target.remote ? output : { ...output, note: 'Restart npm run dev to use the change.' }
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
