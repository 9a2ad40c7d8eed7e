// ops keys …
import { staleIfErrorHours } from '../../../api/promises.ts'
import { formatKeyName } from '../../../crypto/signing-keys.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import {
  checkDroppable,
  dropKey,
  listKeys,
  makeUnknownKeyError,
  recordMissing,
  rotateKeys,
} from '../../core/keys/key-ring.ts'
import { isInUse, recordReplacedKey, replaceLeakedKey } from '../../core/keys/leaked-key.ts'
import { describePlace } from '../../shared/target.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from '../frame/run.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const json = 'an array of the keys'
const refusal = 'Its tokens will be refused.'

export const keys = {
  rotate: verb({
    help: 'add a key that signs tokens, with --remote from two minutes later; tokens of earlier keys stay valid',
    example: 'keys rotate',
    changes: 'at-once',
    json,
    async run(_, { store, attribution, ...run }) {
      await rotateKeys(await run.openSecrets(run.target), store, attribution)
      return describeKeysAfterChange(store, run)
    },
  }),

  list: verb({
    help: 'list the keys and from when they sign, the newest first; never a key itself',
    example: 'keys list',
    store: 'itself',
    json,
    run: (_, run) => describeKeys(run, run.clock.nowMs()),
  }),

  drop: verb({
    help: `delete a key whose successor has signed for ${staleIfErrorHours} hours: its tokens are refused from then on`,
    example: 'keys drop KID',
    args: { kid: {} },
    flags: { leaked: { help: 'delete any key at once; a new key signs at once' } },
    changes: 'at-once',
    asks: true,
    json,
    async run({ kid, leaked }, run) {
      if (leaked) return dropLeaked(kid, run)
      const { store, attribution, target } = run
      const secrets = await run.openSecrets(target)
      await checkDroppable(secrets, store, kid)
      await run.confirm(`The key ${kid} will be deleted. ${refusal}`)
      await dropKey(secrets, store, attribution, kid)
      return describeKeysAfterChange(store, run)
    },
  }),

  record: verb({
    help: 'record a key in use that the record lacks, because the database failed when the key was made',
    example: 'keys record KID',
    args: { kid: {} },
    changes: 'at-once',
    json,
    async run({ kid }, { store, attribution, ...run }) {
      const { live } = await (await run.openSecrets(run.target)).list()
      if (!live.includes(formatKeyName(kid))) throw makeUnknownKeyError(kid, run.target)
      const isRecorded = await recordMissing(store, attribution, 'keys-rotate', kid)
      const note = isRecorded ? `Recorded the key ${kid}.` : `The record already has the key ${kid}; nothing changed.`
      return { ...(await describeKeysAfterChange(store, run)), note }
    },
  }),
}

/** Drops a key that leaked. If it is no longer in use, records the drop, which an earlier run may not have done. */
async function dropLeaked(kid: string, run: ChangeRun): Promise<Output> {
  const { store, attribution, target } = run
  const secrets = await run.openSecrets(target)
  if (await isInUse(secrets, store, kid)) {
    await run.confirm(`The key ${kid} will be deleted. ${refusal} A new key will sign at once.`)
    const next = await replaceLeakedKey(secrets, store, kid)
    // Printed before the record is written: a database that hangs takes minutes.
    run.warn(`${describePlace(target)} The key ${kid} is dropped, and ${next} signs in its place.`)
    await recordReplacedKey(store, attribution, { kid, next })
    return describeKeysAfterChange(store, run)
  }
  run.warn(`${describePlace(target)} The key ${kid} is not in use.`)
  await run.confirm(`The drop of ${kid} will be recorded.`)
  const isRecorded = await recordMissing(store, attribution, 'keys-drop', kid)
  const note = isRecorded
    ? `Recorded the drop of ${kid}.`
    : `The record already has the drop of ${kid}; nothing changed.`
  return { ...(await describeKeysAfterChange(store, run)), note }
}

/** Needs no database: keys are secrets of the Worker. */
async function describeKeys({ target, openSecrets }: Run, nowMs: number): Promise<Output> {
  const { live } = await (await openSecrets(target)).list()
  const rows = listKeys(live, nowMs / 1000).map(({ kid, use }) => ({ kid, use, signsFrom: formatIsoTime(Number(kid)) }))
  return { data: rows, note: rows.length === 0 ? 'There is no key.' : undefined }
}

/** Lists the keys after a change. Locally it says to restart, because wrangler reads .dev.vars only when it starts. */
async function describeKeysAfterChange(store: Store, run: Run): Promise<Output> {
  const output = await describeKeys(run, await store.askServerTimeMs())
  return run.target.remote ? output : { ...output, note: 'Restart npm run dev to use the change.' }
}
