// ops keys …: a key is known by its KID, the Unix second from which it signs.
import { staleIfErrorHours } from '../../../api/promises.ts'
import { formatKeyName } from '../../../crypto/signing-keys.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import {
  checkDroppable,
  dropKey,
  listKeys,
  makeUnknownKeyError,
  recordIfMissing,
  rotateKeys,
} from '../../core/keys/key-ring.ts'
import { isKeyInUse, recordReplacedKey, replaceLeakedKey } from '../../core/keys/leaked-key.ts'
import { describePlace, type Target } from '../../shared/target.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from '../frame/run.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const json = 'an array of the keys'
const refusal = 'Tokens that it signed will be refused.'

export const keys = {
  rotate: verb({
    help: 'add a key that signs tokens, with --remote from two minutes later; tokens of earlier keys stay valid',
    example: 'keys rotate',
    changes: 'at-once',
    json,
    async run(_, { store, attribution, ...run }) {
      await rotateKeys(await run.openSecrets(run.target), store, attribution)
      return describeAfterChange(store, run, `A new key is added.${describeRestart(run.target)}`)
    },
  }),

  list: verb({
    help: 'list the KID of each key, and from when it signs, the newest first; never prints a key',
    example: 'keys list',
    store: 'itself',
    json,
    run: (_, run) => describeKeys(run, run.clock.nowMs()),
  }),

  drop: verb({
    help: `delete a key, once the next key has signed for ${staleIfErrorHours} hours; tokens of the deleted key are refused`,
    example: 'keys drop KID',
    args: { kid: {} },
    flags: { leaked: { help: 'delete the key at once, whichever it is; a new key signs at once' } },
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
      return describeAfterChange(store, run, `The key ${kid} is dropped.${describeRestart(target)}`)
    },
  }),

  record: verb({
    help: 'record a key that is in use, when the database failed while the key was made',
    example: 'keys record KID',
    args: { kid: {} },
    changes: 'at-once',
    json,
    async run({ kid }, { store, attribution, ...run }) {
      const { live } = await (await run.openSecrets(run.target)).list()
      if (!live.includes(formatKeyName(kid))) throw makeUnknownKeyError(kid, run.target)
      const isRecorded = await recordIfMissing(store, attribution, 'keys-rotate', kid)
      const done = isRecorded ? `Recorded the key ${kid}.` : `The record already has the key ${kid}; nothing changed.`
      return describeAfterChange(store, run, done)
    },
  }),
}

/** Deletes a key that leaked. If an earlier run has deleted it, records that, in case the database failed during that run. */
async function dropLeaked(kid: string, run: ChangeRun): Promise<Output> {
  const { store, attribution, target } = run
  const secrets = await run.openSecrets(target)
  if (await isKeyInUse(secrets, store, kid)) {
    await run.confirm(`The key ${kid} will be deleted. ${refusal} A new key will sign at once.`)
    const next = await replaceLeakedKey(secrets, store, kid)
    // Printed before the record is written: a database that hangs takes minutes.
    run.warn(`${describePlace(target)} The key ${kid} is dropped, and ${next} signs in its place.`)
    await recordReplacedKey(store, attribution, { kid, next })
    const done = `Recorded the drop of ${kid} and the new key ${next}.${describeRestart(target)}`
    return describeAfterChange(store, run, done)
  }
  run.warn(`${describePlace(target)} The key ${kid} is not in use.`)
  await run.confirm(`The drop of ${kid} will be recorded.`)
  const isRecorded = await recordIfMissing(store, attribution, 'keys-drop', kid)
  const done = isRecorded
    ? `Recorded the drop of ${kid}.`
    : `The record already has the drop of ${kid}; nothing changed.`
  return describeAfterChange(store, run, done)
}

/** Lists the keys as a table. It needs no database, because keys are secrets of the Worker. */
async function describeKeys({ target, openSecrets }: Run, nowMs: number): Promise<Output> {
  const { live } = await (await openSecrets(target)).list()
  const rows = listKeys(live, nowMs / 1000).map(({ kid, use }) => ({ kid, use, signsFrom: formatIsoTime(Number(kid)) }))
  return { data: rows, note: rows.length === 0 ? 'There is no key.' : undefined }
}

/** @param done says in a sentence what the command did. */
async function describeAfterChange(store: Store, run: Run, done: string): Promise<Output> {
  const output = await describeKeys(run, await store.askServerTimeMs())
  return { ...output, note: `${describePlace(run.target)} ${done}` }
}

/** Wrangler reads the keys of the local state, .dev.vars, only when it starts. */
function describeRestart({ remote }: Target): string {
  return remote ? '' : ' Restart npm run dev to use the change.'
}
