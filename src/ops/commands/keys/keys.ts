// The commands `ops keys …`. The KID of a key is the Unix second from which the key signs.
import { staleIfErrorHours } from '../../../api/promises.ts'
import { formatKeyName } from '../../../crypto/signing-keys.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import {
  checkDroppable,
  dropKey,
  listSigningKeys,
  makeUnknownKeyError,
  recordIfMissing,
  rotateKeys,
} from '../../core/keys/key-ring.ts'
import { isKeyInUse, recordReplacedKey, replaceLeakedKey } from '../../core/keys/leaked-key.ts'
import { describeCommand, formatTarget, type Target } from '../../shared/target.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from '../frame/run.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const json = 'an array of the keys'
/** A sentence about the key that the sentence before names. */
const tokensSentence = 'Tokens that it signed will be refused.'

export const keys = {
  rotate: verb({
    help: 'add a key that soon signs new tokens; tokens of earlier keys stay valid',
    example: 'keys rotate',
    changes: 'at-once',
    json,
    async run(_, { store, attribution, ...run }) {
      await rotateKeys(await run.openSecrets(run.target), store, attribution)
      return makeOutputAfterChange(store, run, `A new key is added.${describeRestart(run.target)}`)
    },
  }),

  list: verb({
    help: 'list the KID of each key, and from when it signs, the newest first; never prints a key',
    example: 'keys list',
    store: 'itself',
    json,
    run: (_, run) => makeKeysOutput(run, run.clock.nowMs()),
  }),

  drop: verb({
    help: `delete a key, once the next key has signed for ${staleIfErrorHours} hours; tokens of the deleted key are refused`,
    example: 'keys drop KID',
    args: { kid: {} },
    flags: { leaked: { help: 'delete any key at once, even the key that signs; a new key signs from then on' } },
    changes: 'at-once',
    asks: true,
    json,
    async run({ kid, leaked }, run) {
      if (leaked) return dropLeakedKey(kid, run)
      const { store, attribution, target } = run
      const secrets = await run.openSecrets(target)
      await checkDroppable(secrets, store, kid)
      await run.confirm(`The key ${kid} will be deleted. ${tokensSentence}`)
      await dropKey(secrets, store, attribution, kid)
      return makeOutputAfterChange(store, run, `The key ${kid} is dropped.${describeRestart(target)}`)
    },
  }),

  record: verb({
    help: 'add a key that is in use to the record, if the database failed when the key was made',
    example: 'keys record KID',
    args: { kid: {} },
    changes: 'at-once',
    json,
    async run({ kid }, { store, attribution, ...run }) {
      const secrets = await run.openSecrets(run.target)
      const { live: liveNames } = await secrets.list()
      if (!liveNames.includes(formatKeyName(kid))) throw makeUnknownKeyError(kid, run.target)
      const wasMissing = await recordIfMissing(store, attribution, 'keys-rotate', kid)
      const message = wasMissing
        ? `Recorded the key ${kid}.`
        : `The record already has the key ${kid}; nothing changed.`
      return makeOutputAfterChange(store, run, message)
    },
  }),
}

/** Replaces a leaked key, and records both changes. If the key is not in use, as after an earlier run, only records its drop. */
async function dropLeakedKey(kid: string, run: ChangeRun): Promise<Output> {
  const { store, attribution, target } = run
  const secrets = await run.openSecrets(target)
  if (await isKeyInUse(secrets, store, kid)) {
    await run.confirm(`The key ${kid} will be deleted. ${tokensSentence} A new key will sign at once.`)
    const newKid = await replaceLeakedKey(secrets, store, kid)
    // Printed before the record is written, because that takes minutes while the database hangs.
    run.warn(`${formatTarget(target)} The key ${kid} is dropped, and ${newKid} signs in its place.`)
    await recordReplacedKey(store, attribution, { droppedKid: kid, newKid })
    const message = `Recorded the drop of the key ${kid} and the new key ${newKid}.${describeRestart(target)}`
    return makeOutputAfterChange(store, run, message)
  }
  run.warn(`${formatTarget(target)} The key ${kid} is not in use.`)
  await run.confirm(`The drop of the key ${kid} will be recorded.`)
  const wasMissing = await recordIfMissing(store, attribution, 'keys-drop', kid)
  const message = wasMissing
    ? `Recorded the drop of the key ${kid}.`
    : `The record already has the drop of the key ${kid}; nothing changed.`
  return makeOutputAfterChange(store, run, message)
}

/** Lists the keys, with the use of each at `nowMs`. Needs no database, because keys are secrets of the Worker. */
async function makeKeysOutput({ target, openSecrets }: Run, nowMs: number): Promise<Output> {
  const secrets = await openSecrets(target)
  const liveKeys = listSigningKeys((await secrets.list()).live, nowMs / 1000)
  const rows = liveKeys.map(({ kid, use }) => ({ kid, use, signsFrom: formatIsoTime(Number(kid)) }))
  const emptyNote = `There is no key. To make one: ${describeCommand(target, 'keys', 'rotate')}`
  return { data: rows, note: rows.length === 0 ? emptyNote : undefined }
}

async function makeOutputAfterChange(store: Store, run: Run, doneMessage: string): Promise<Output> {
  // Reads the clock of the server, from which a new key has its KID: by another clock, the new key might not sign yet.
  const output = await makeKeysOutput(run, await store.askServerTimeMs())
  return { ...output, note: `${formatTarget(run.target)} ${doneMessage}` }
}

/** @returns advice for a local target, whose keys are in .dev.vars: a running `npm run dev` does not read this file again. */
function describeRestart({ remote }: Target): string {
  return remote ? '' : ' Restart npm run dev to use the change.'
}
