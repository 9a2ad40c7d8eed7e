import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import { listKeyEntries } from '../../../src/ops/core/change-record.ts'
import { systemClock } from '../../../src/ops/core/clock.ts'
import {
  describeRevivedKey,
  dropKey,
  findRevivedKeys,
  rotateKeys,
  type KeyRing,
} from '../../../src/ops/core/key-ring.ts'
import { createLocalKeyRing } from '../../../src/ops/core/local-keys.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { KeyFile } from '../../../src/ops/store/dev-vars.ts'
import { openHandles } from '../../../src/ops/store/handles.ts'
import { describeOutcome, type Changes } from '../../../src/ops/store/outcome.ts'
import type { OctJwk } from '../../../src/crypto/signing-keys.ts'
import { emptyDatabase } from '../support/test-database.ts'
import { attribution, interceptChanges, loseAnswer, store } from '../support/worker-store.ts'
import { d1Down } from '../../support/unreliable-stores.ts'

let file: OctJwk[]
/** The entries at the time of each change of the file. */
let recorded: string[][]

beforeEach(async () => {
  await emptyDatabase(env)
  file = []
  recorded = []
})

const keyFile: KeyFile = {
  read: async () => file,
  update: async (change) => {
    recorded.push(await listEntries())
    file = [...change(file)]
  },
}
const keys = createLocalKeyRing(keyFile, systemClock)
const listEntries = async () => (await listKeyEntries(store, {})).map(({ kind, kid }) => `${kind} ${kid}`)
const rotation = { waitSeconds: 0, onWait: () => {}, confirmReplacement: async () => {} }
const rotate = (ring = keys, on = store) => rotateKeys(ring, on, attribution, rotation)
const drop = (kid: string, ring = keys) => dropKey(ring, store, attribution, { kid, use: 'verifies' })

test('a change of the keys is recorded before it is made, and never a key', async () => {
  await rotate()
  await rotate()
  const [second, first] = file.map(({ kid }) => kid)
  await drop(first ?? '')
  const entries = [`keys-drop ${first}`, `keys-rotate ${second}`, `keys-rotate ${first}`]
  expect(recorded).toEqual([entries.slice(2), entries.slice(1), entries])
  const [entry] = await listKeyEntries(store, {})
  expect(entry).toMatchObject({ ...attribution, id: 3, partner: null, country: null, suspendedAt: null })
  const { results } = await env.DB.prepare('select * from change_record').all()
  expect(JSON.stringify(results)).not.toContain(file[0]?.k)
})

test('a change that can’t be recorded is not made', async () => {
  const broken = interceptChanges(d1Down)
  const failure = { cause: { message: 'D1_ERROR: down' } }
  await expect(rotate(keys, broken)).rejects.toMatchObject(failure)
  const dropping = dropKey(keys, broken, attribution, { kid: 'OLD', use: 'verifies' })
  await expect(dropping).rejects.toMatchObject(failure)
  expect(recorded).toEqual([])
})

test('a change is recorded once when the answer is lost', async () => {
  await rotate(keys, interceptChanges(loseAnswer))
  expect([recorded.length, (await listEntries()).length]).toEqual([1, 1])
})

test('a rotation that can’t be made before the next deploy is not recorded', async () => {
  const checkEditable = () => Promise.reject(new UserError('Deploy first.'))
  await expect(rotate({ ...keys, checkEditable })).rejects.toThrow(new UserError('Deploy first.'))
  expect([recorded, await listEntries()]).toEqual([[], []])
})

describe('an interruption', () => {
  const list = 'see `npm run -s ops -- keys list`'
  const startedRotation = expect.stringMatching(
    new RegExp(`^The record shows a rotation of \\w+ that may not be complete: ${list}, and rotate again\\.$`),
  ) as string
  const startedDrop = `The record shows a drop of OLD that may not be complete: ${list}, and drop the key again if it is still there.`
  const made = expect.stringMatching(/^The change was made: /) as string
  const dropOld = (ring: KeyRing, on: Store) => dropKey(ring, on, attribution, { kid: 'OLD', use: 'verifies' })
  const fail = () => Promise.reject(new UserError('Can’t write.'))

  test.each<[string, (ring: KeyRing, on: Store) => Promise<void>, KeyFile['update'], string, string]>([
    ['a rotation', rotate, keyFile.update, startedRotation, made],
    ['a rotation that fails', rotate, fail, startedRotation, startedRotation],
    ['a drop', dropOld, keyFile.update, startedDrop, made],
    ['a drop that fails', dropOld, fail, startedDrop, startedDrop],
  ])('of %s says what the record shows, until the keys are changed', async (_, change, update, during, after) => {
    const changes: Changes = { target: {}, outcome: 'unchanged' }
    const query = <Row extends unknown[]>(sql: string, params: unknown[]) =>
      env.DB.prepare(sql)
        .bind(...params)
        .raw<Row>()
    const said: string[] = []
    const note = () => said.push(describeOutcome(changes))
    const watchedFile: KeyFile = {
      ...keyFile,
      update: (edit) => {
        note()
        return update(edit)
      },
    }
    note()
    await change(createLocalKeyRing(watchedFile, systemClock), { ...store, ...openHandles(query, changes) }).catch(
      () => {},
    )
    note()
    expect(said).toEqual(['Nothing was changed in the database.', during, after])
  })
})

describe('a change that fails after it was recorded', () => {
  const failing = createLocalKeyRing(
    { ...keyFile, update: () => Promise.reject(new UserError('Can’t write.')) },
    systemClock,
  )

  test.each<[string, (ring: KeyRing) => Promise<void>]>([
    ['keys-rotate', (ring) => rotate(ring)],
    ['keys-drop', (ring) => drop('OLD', ring)],
  ])('%s has a second entry', async (kind, change) => {
    const error: unknown = await change(failing).catch((reason: unknown) => reason)
    const [entry] = await listKeyEntries(store, {})
    expect(await listEntries()).toEqual([`${kind}-failed ${entry?.kid}`, `${kind} ${entry?.kid}`])
    expect(error).toEqual(
      new UserError([
        'Can’t write.',
        `The record shows that the change of key ${entry?.kid} failed. See which keys there are: npm run -s ops -- keys list`,
      ]),
    )
  })

  test('is reported when the second entry can’t be written', async () => {
    let writes = 0
    const broken = interceptChanges((call) => (writes++ === 0 ? call() : d1Down(call)))
    await expect(rotate(failing, broken)).rejects.toThrow(
      /\nThe record shows a change of key \w+, and could not be corrected\. See which keys there are: npm run -s ops -- keys list$/,
    )
  })
})

test('a dropped key that is in use again is found, unless its drop failed', () => {
  const known = [
    { kid: 'A', use: 'signs' },
    { kid: 'B', use: 'verifies' },
    { kid: 'C', use: 'verifies' },
    { kid: 'D', use: 'waits' },
  ] as const
  const entries = [
    { kid: 'C', kind: 'keys-drop-failed', changedAt: 40 },
    { kid: 'C', kind: 'keys-drop', changedAt: 39 },
    { kid: 'D', kind: 'keys-drop', changedAt: 38 },
    { kid: 'A', kind: 'keys-drop', changedAt: 37 },
    { kid: 'A', kind: 'keys-rotate', changedAt: 36 },
    { kid: 'Z', kind: 'keys-drop', changedAt: 35 },
    { kid: 'B', kind: 'keys-rotate', changedAt: 34 },
  ] as const
  const revived = findRevivedKeys(known, entries)
  expect(revived).toEqual([
    { kid: 'A', use: 'signs', droppedAt: 37 },
    { kid: 'D', use: 'waits', droppedAt: 38 },
  ])
  expect(revived.map((key) => describeRevivedKey(key, { remote: true, env: 'staging' }))).toEqual([
    'The key A was dropped at 1970-01-01T00:00:37Z, and signs again. Rotate, and drop it again: npm run -s ops -- keys rotate --remote --env staging, then: npm run -s ops -- keys drop A --remote --env staging',
    'The key D was dropped at 1970-01-01T00:00:38Z, and waits to sign again. Drop it again: npm run -s ops -- keys drop D --remote --env staging',
  ])
})
