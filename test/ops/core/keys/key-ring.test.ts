import { beforeEach, describe, expect, test, vi } from 'vitest'
import { checkDroppable, dropKey, rotateKeys } from '../../../../src/ops/core/keys/key-ring.ts'
import { isKeyInUse } from '../../../../src/ops/core/keys/leaked-key.ts'
import { selectKeyEntries } from '../../../../src/db/partner-queries.ts'
import type { Store } from '../../../../src/ops/store/store.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { attribution, emptyStores, env, interceptChanges, loseAnswer, store } from '../../support/memory-store.ts'
import { d1Down } from '../../../support/unreliable-stores.ts'

const target = { remote: true, env: 'staging' }
const deployed: Store = { ...store, target }
const hour = 3600
const [first, second] = ['1700000000', '1700000010'] as const
const secret = (kid: string | number) => `JWT_KEY_${kid}`
const nowSeconds = () => Math.floor(Date.now() / 1000)
const listEntries = async () => (await selectKeyEntries(store.db)).map(({ kind, kid }) => `${kind} ${kid}`)

beforeEach(emptyStores)

describe('a rotation', () => {
  const rotate = async (on: Store, ...kids: number[]) => {
    const secrets = createMemorySecrets(...kids.map((kid) => secret(kid)))
    const before = nowSeconds()
    await rotateKeys(secrets, on, attribution)
    const added = Number([...secrets.values.keys()].at(-1)?.slice(-10))
    expect([...secrets.values.values()].at(-1)).toMatch(/^[\w-]{43}$/)
    return { afterSeconds: added - before, count: secrets.values.size }
  }

  test.each<[string, Store, number[], number]>([
    ['of a deployed key signs in two minutes', deployed, [1_700_000_000], 120],
    ['makes a first deployed key, which signs at once', deployed, [], 0],
    ['of a local key signs at once', store, [1_700_000_000], 0],
  ])('%s', async (_, on, kids, seconds) => {
    const { afterSeconds, count } = await rotate(on, ...kids)
    expect([0, 1, 2].map((late) => seconds + late)).toContain(afterSeconds)
    expect(count).toBe(kids.length + 1)
  })

  test('never replaces a key', async () => {
    const taken = [0, 1, 2, 3].map((later) => nowSeconds() + later)
    expect(await rotate(store, ...taken)).toMatchObject({ afterSeconds: 4, count: 5 })
  })
})

describe('the record', () => {
  test('has a change before it is made, and never a key', async () => {
    const secrets = createMemorySecrets(secret(first))
    let entries: string[] = []
    const put = async (...args: Parameters<typeof secrets.put>) => {
      entries = await listEntries()
      return secrets.put(...args)
    }
    await rotateKeys({ ...secrets, put }, store, attribution)
    const kid = [...secrets.values.keys()].at(-1)?.slice(-10)
    expect(entries).toEqual([`keys-rotate ${kid}`])
    await dropKey({ ...secrets, put }, store, attribution, first)
    expect(entries).toEqual([`keys-drop ${first}`, `keys-rotate ${kid}`])
    expect([...secrets.values.keys()]).toEqual([`JWT_KEY_${kid}`])
    const [entry] = await selectKeyEntries(store.db)
    expect(entry).toMatchObject(attribution)
    const { results } = await env.DB.prepare('select * from change_record').all()
    expect(JSON.stringify(results)).not.toContain([...secrets.values.values()].at(-1))
  })

  test('that can’t be written stops the change', async () => {
    const secrets = createMemorySecrets(secret(first))
    const put = vi.spyOn(secrets, 'put')
    const broken = interceptChanges(d1Down)
    const failure = { cause: { message: 'D1_ERROR: down' } }
    await expect(rotateKeys(secrets, broken, attribution)).rejects.toMatchObject(failure)
    await expect(dropKey(secrets, broken, attribution, first)).rejects.toMatchObject(failure)
    expect(put).not.toHaveBeenCalled()
  })

  test('has one entry when the answer is lost, and none of a change that Cloudflare would refuse', async () => {
    const secrets = createMemorySecrets()
    const checkEditable = () => Promise.reject(new UserError('Deploy first.'))
    await expect(rotateKeys({ ...secrets, checkEditable }, store, attribution)).rejects.toThrow('Deploy first.')
    expect(await listEntries()).toEqual([])
    await rotateKeys(secrets, interceptChanges(loseAnswer), attribution)
    expect({ keys: secrets.values.size, entries: (await listEntries()).length }).toEqual({ keys: 1, entries: 1 })
  })

  test('has the entry of a change that fails, and the message says so', async () => {
    const on: Store = { ...store, changes: { outcome: 'unchanged' } }
    const failing = { ...createMemorySecrets(), put: () => Promise.reject(new UserError('Can’t write.')) }
    await expect(dropKey(failing, on, attribution, first)).rejects.toEqual(
      new UserError([
        'Can’t write.',
        'The record has the change, but the change may not have been made.',
        'See which keys there are: npm run -s ops -- keys list',
      ]),
    )
    expect(await listEntries()).toEqual([`keys-drop ${first}`])
    expect(on.changes.outcome).toBe('unknown')
  })
})

describe('a drop', () => {
  const flags = '--remote --env staging'
  const check = (kids: (number | string)[], kid: number | string) =>
    checkDroppable(createMemorySecrets(...kids.map((one) => secret(one))), deployed, String(kid))
  const expectRefusal = (refused: Promise<void>, message: string) =>
    expect(refused).rejects.toThrow(new UserError(message))

  test('is refused for the newest key, and for 30 hours after the next one signs', async () => {
    const soon = nowSeconds() + 60
    const started = nowSeconds() - 30 * hour + 60
    const leaked = `If the key leaked: npm run -s ops -- keys drop ${second} --leaked ${flags}`
    await expectRefusal(
      check([first, second], second),
      `The key ${second} is the newest: it signs, or soon will.\nRotate first: npm run -s ops -- keys rotate ${flags}\n${leaked}`,
    )
    for (const successor of [soon, started]) {
      const until = new Date((successor + 30 * hour) * 1000).toISOString().replace('.000', '')
      await expectRefusal(
        check([first, second, successor], second),
        `The key ${second} is needed until ${until}: it verifies copies of partners in the cache. Without a copy, a partner gets 503 while D1 fails.\n${leaked}`,
      )
      await check([first, second, successor], first)
    }
    await check([first, second, nowSeconds() - 30 * hour], second)
  })

  test('is refused for an unknown key, and while Cloudflare would refuse it', async () => {
    await expectRefusal(check([first], 'x'), `There is no key "x".\nSee: npm run -s ops -- keys list ${flags}`)
    const secrets = { ...createMemorySecrets(secret(first)), checkEditable: () => Promise.reject(new UserError('No.')) }
    await expectRefusal(checkDroppable(secrets, deployed, first), 'No.')
    await expect(isKeyInUse(secrets, deployed, first)).rejects.toThrow('No.')
  })
})
