import { beforeEach, describe, expect, test } from 'vitest'
import type { Clock } from '../../../src/ops/core/clock.ts'
import { createDeployedKeyRing } from '../../../src/ops/core/deployed-keys.ts'
import { findDroppableKey, type Rotation } from '../../../src/ops/core/key-ring.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { WorkerSecrets } from '../../../src/ops/store/worker-secrets.ts'

const target = { remote: true, env: 'staging' }
/** The secrets of a Worker that does not exist yet. */
let secrets: Map<string, string>
/** Secrets of one version only, when the version that is live is not the latest. */
let onlyLive: string[]
let onlyLatest: string[]
let isRolledBack: boolean
let nowMs: number
/** Every change, with the key that signed before it. */
let changes: { atMs: number; signedBefore: string | undefined }[]

beforeEach(() => {
  secrets = new Map()
  onlyLive = []
  onlyLatest = []
  isRolledBack = false
  nowMs = Date.parse('2026-11-21T12:00:00Z')
  changes = []
})

const clock: Clock = {
  nowMs: () => nowMs,
  sleep: async (ms) => {
    nowMs += ms
  },
}
const workerSecrets: WorkerSecrets = {
  list: async () => [
    ...[...secrets.keys()].map((name) => ({ name, isLive: true, isEverywhere: true, isKept: true })),
    ...onlyLive.map((name) => ({ name, isLive: true, isEverywhere: true, isKept: false })),
    ...onlyLatest.map((name) => ({ name, isLive: false, isEverywhere: false, isKept: true })),
  ],
  checkEditable: async () => {
    if (isRolledBack) throw new UserError('Deploy first.')
  },
  put: async (put) => {
    changes.push({ atMs: nowMs, signedBefore: kidIn('JWT_KEYS') })
    for (const [name, value] of Object.entries(put)) {
      if (value === null) secrets.delete(name)
      else secrets.set(name, value)
    }
  },
}
const keys = createDeployedKeyRing(workerSecrets, target, clock)

function kidIn(name: string): string | undefined {
  const set = JSON.parse(secrets.get(name) ?? '{"keys":[]}') as { keys: { kid: string }[] }
  return set.keys[0]?.kid
}

const rotate = (overrides: Partial<Parameters<typeof keys.rotate>[0]> = {}) =>
  keys.rotate({
    waitSeconds: 0,
    onWait: () => {},
    confirmReplacement: () => Promise.reject(new Error('unexpected question')),
    recorded: (_, work) => work(),
    ...overrides,
  })
const listKids = async () => (await keys.list()).map(({ kid, use }) => `${kid} ${use}`)
const [first, second] = ['20200101T000000Z_00000000', '20200102T000000Z_00000000']
const setSecrets = (...names: string[]) => {
  secrets = new Map(names.map((name) => [name, '{"keys":[]}']))
}
const expectUndroppable = (kid: string, message: string) =>
  expect(findDroppableKey(keys, kid, target)).rejects.toThrow(new UserError(message))

describe('rotate', () => {
  test('creates the first secrets in one change', async () => {
    await rotate()
    const [key] = await keys.list()
    expect(await keys.list()).toEqual([
      { kid: expect.stringMatching(/^20261121T120000Z_[0-9a-f]{8}$/) as string, use: 'signs' },
    ])
    expect([...secrets.keys()].toSorted()).toEqual(['JWT_KEYS', `JWT_KEYS_${key?.kid}`])
    expect([kidIn('JWT_KEYS'), kidIn(`JWT_KEYS_${key?.kid}`)]).toEqual([key?.kid, key?.kid])
    expect(changes).toHaveLength(1)
  })

  test('lets the next key verify everywhere before it signs, and keeps the one before', async () => {
    await rotate()
    const before = kidIn('JWT_KEYS') ?? ''
    nowMs += 60_000
    changes = []
    const waits: unknown[] = []
    await rotate({ waitSeconds: 2, onWait: (kid, passed) => waits.push([kid, passed]) })
    const now = kidIn('JWT_KEYS') ?? ''
    expect(changes.map(({ signedBefore }) => signedBefore)).toEqual([before, before])
    expect((changes[1]?.atMs ?? 0) - (changes[0]?.atMs ?? 0)).toBe(2000)
    expect(waits).toEqual([
      [now, 0],
      [now, 1],
    ])
    expect(await listKids()).toEqual([`${now} signs`, `${before} verifies`])
    expect([...secrets.keys()].toSorted()).toEqual(['JWT_KEYS', `JWT_KEYS_${before}`, `JWT_KEYS_${now}`].toSorted())
  })

  test('waits until the next second, because key IDs have seconds, and refuses a clock behind the last rotation', async () => {
    await rotate()
    const before = kidIn('JWT_KEYS') ?? ''
    await rotate()
    expect(kidIn('JWT_KEYS')?.slice(0, 16)).toBe('20261121T120001Z')
    expect(before < (kidIn('JWT_KEYS') ?? '')).toBe(true)
    nowMs -= 60_000
    const refusal = /^The clock of this machine is behind the last rotation, 2026.*Set the clock\.$/
    await expect(rotate()).rejects.toThrow(refusal)
  })

  test('is refused when somebody else rotates during the wait: the later rotation wins', async () => {
    await rotate()
    nowMs += 60_000
    let later: Promise<void> | undefined
    const onWait = () => {
      nowMs += 1000
      later ??= rotate()
    }
    await expect(rotate({ waitSeconds: 9, onWait })).rejects.toThrow(
      new UserError('Somebody else rotated at the same time. See: npm run -s ops -- keys list --remote --env staging'),
    )
    await later
    expect((await keys.list()).find(({ use }) => use === 'signs')?.kid).toBe(kidIn('JWT_KEYS'))
  })

  test('deletes the waiting key of an interrupted rotation', async () => {
    await rotate()
    const waiting = '20200101T000000Z_00000000'
    secrets.set(`JWT_KEYS_NEXT_${waiting}`, '{"keys":[]}')
    expect((await listKids()).at(-1)).toBe(`${waiting} waits`)
    await rotate()
    expect([...secrets.keys()].filter((name) => name.includes('NEXT'))).toEqual([])
  })

  test('records the key once, before any change', async () => {
    const entries: unknown[] = []
    const record: Rotation['recorded'] = (kid, work) => {
      entries.push([kid, changes.length])
      return work()
    }
    await rotate({ recorded: record })
    const before = kidIn('JWT_KEYS')
    await rotate({ recorded: record })
    expect(entries).toEqual([
      [before, 0],
      [kidIn('JWT_KEYS'), 1],
    ])
    changes = []
    await expect(rotate({ recorded: () => Promise.reject(new Error('not recorded')) })).rejects.toThrow('not recorded')
    expect(changes).toEqual([])
  })

  test('asks before it replaces a key that was set by other means, and records nothing before the answer', async () => {
    secrets.set('JWT_KEYS', '{"keys":[]}')
    const record = () => Promise.reject(new Error('recorded too early'))
    await expect(rotate({ recorded: record })).rejects.toThrow('unexpected question')
    expect(changes).toEqual([])
    await rotate({ confirmReplacement: async () => {} })
    expect(await listKids()).toEqual([`${kidIn('JWT_KEYS')} signs`])
  })
})

test('a key set that somebody added by other means verifies, and does not affect a rotation', async () => {
  await rotate()
  secrets.set('JWT_KEYS_OLD', '{"keys":[]}')
  await rotate()
  expect((await keys.list())[0]?.use).toBe('signs')
  expect((await keys.list()).find(({ kid }) => kid === 'OLD')).toEqual({ kid: 'OLD', use: 'verifies' })
})

describe('after a rollback', () => {
  test('to the middle of a rotation, the key of the rotation signs from the next deploy, and does not end', async () => {
    setSecrets('JWT_KEYS', `JWT_KEYS_${first}`)
    onlyLive = [`JWT_KEYS_NEXT_${second}`]
    onlyLatest = [`JWT_KEYS_${second}`]
    expect(await keys.list()).toEqual([
      { kid: first, use: 'signs' },
      { kid: second, use: 'signs', startsWithDeploy: true },
    ])
  })

  test('a key that only the latest version has is listed, and is dropped after the next deploy', async () => {
    setSecrets('JWT_KEYS', `JWT_KEYS_${first}`)
    onlyLatest = [`JWT_KEYS_${second}`, 'JWT_KEYS_OLD', 'JWT_KEYS_NEXT_later']
    expect(await keys.list()).toEqual([
      { kid: first, use: 'signs' },
      { kid: second, use: 'signs', startsWithDeploy: true },
      { kid: 'OLD', use: 'verifies', startsWithDeploy: true },
      { kid: 'later', use: 'waits', startsWithDeploy: true },
    ])
    await expectUndroppable(
      second,
      `The version of the Worker that is live is not the latest: the key ${second} signs from the next deploy on. Deploy: npm run deploy -- --env staging; then, to drop it: npm run -s ops -- keys rotate --remote --env staging, and npm run -s ops -- keys drop ${second} --remote --env staging`,
    )
    await expectUndroppable(
      'OLD',
      'The version of the Worker that is live is not the latest: the key OLD verifies tokens from the next deploy on. Deploy: npm run deploy -- --env staging; then, to drop it: npm run -s ops -- keys drop OLD --remote --env staging',
    )
  })

  test('a key that only the live version has is dropped by the next deploy', async () => {
    setSecrets('JWT_KEYS', `JWT_KEYS_${second}`)
    onlyLive = [`JWT_KEYS_${first}`, 'JWT_KEYS_NEXT_later']
    expect((await keys.list()).slice(1)).toEqual([
      { kid: first, use: 'verifies', endsWithDeploy: true },
      { kid: 'later', use: 'waits', endsWithDeploy: true },
    ])
    await expectUndroppable(
      first,
      `The latest version of the Worker lacks the key ${first}, so the next deploy drops it: npm run deploy -- --env staging`,
    )
  })

  test('a key that both versions have is dropped after the next deploy', async () => {
    setSecrets(`JWT_KEYS_${first}`, `JWT_KEYS_${second}`)
    isRolledBack = true
    await expectUndroppable(first, 'Deploy first.')
  })
})

test('a key that waits in one live version, and signs in another one, is listed once', async () => {
  setSecrets('JWT_KEYS', `JWT_KEYS_NEXT_${first}`, `JWT_KEYS_${first}`)
  expect(await listKids()).toEqual([`${first} signs`])
})

describe('drop', () => {
  test('deletes a key that verifies or waits', async () => {
    await rotate()
    const before = kidIn('JWT_KEYS') ?? ''
    await rotate()
    secrets.set('JWT_KEYS_NEXT_later', '{"keys":[]}')
    for (const kid of [before, 'later']) await keys.drop(await findDroppableKey(keys, kid, target))
    expect([...secrets.keys()].toSorted()).toEqual(['JWT_KEYS', `JWT_KEYS_${kidIn('JWT_KEYS')}`])
  })

  test('refuses the key that signs, and an unknown key', async () => {
    setSecrets('JWT_KEYS', `JWT_KEYS_${first}`)
    const where = '--remote --env staging'
    await expectUndroppable(first, `The key ${first} signs. Rotate first: npm run -s ops -- keys rotate ${where}`)
    await expectUndroppable('x', `There is no key "x". See: npm run -s ops -- keys list ${where}`)
  })
})
