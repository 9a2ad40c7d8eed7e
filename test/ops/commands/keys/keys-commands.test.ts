import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { WorkerSecrets } from '../../../../src/ops/store/worker-secrets.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { openStores } from '../../support/binding-store.ts'
import { useFakeCloudflare } from '../../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { readTable, runCommand } from '../../support/run-ops.ts'
import { emptyDatabase } from '../../support/test-database.ts'

const [signing, earlier, next] = ['1795154400', '1795003200', '1795262460'] as const
const remote = ['--remote', '--env', 'staging']
const makeSecrets = () => createMemorySecrets(...[signing, earlier, next].map((kid) => `JWT_KEY_${kid}`))

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-21T12:00:00Z') })
  await emptyDatabase(bindings())
})
afterEach(() => vi.useRealTimers())

const keys = (args: string[], secrets: WorkerSecrets = makeSecrets()) =>
  runCommand(['keys', ...args], { openSecrets: async () => secrets, withStore: openStores(bindings) })

test('keys list works without a database, and says when there is no key', async () => {
  const withStore = () => Promise.reject(new UserError('There is no database.'))
  const list = (secrets: WorkerSecrets) => runCommand(['keys', 'list'], { openSecrets: async () => secrets, withStore })
  expect(await list(createMemorySecrets())).toEqual({
    code: 0,
    stdout: '',
    stderr: 'There is no key. To make one: npm run -s ops -- keys rotate\n',
  })
  expect(readTable((await list(makeSecrets())).stdout).map(([kid]) => kid)).toEqual(['KID', next, signing, earlier, ''])
})

test('keys drop asks first, and says what the effect is', async () => {
  const secrets = makeSecrets()
  for (const [args, effect] of [
    [[earlier], ''],
    [[signing, '--leaked'], ' A new key will sign at once.'],
  ] as const) {
    const question = `[staging] The key ${args[0]} will be deleted. Tokens that it signed will be refused.${effect} There`
    const { code, stderr } = await keys(['drop', ...args, ...remote], secrets)
    const start = stderr.slice(0, question.length)
    expect({ code, start, keys: secrets.values.size }).toEqual({ code: 2, start: question, keys: 3 })
  }
  const { code, stdout } = await keys(['drop', signing, '--leaked', ...remote, '--yes'], secrets)
  expect({ code, rows: readTable(stdout).map(([kid, use]) => `${kid} ${use}`) }).toEqual({
    code: 0,
    rows: ['KID USE', `${next} next`, '1795262400 signs', `${earlier} verifies`, ' undefined'],
  })
})

describe('a leaked key', () => {
  /** Runs a command on the account, and on these secrets. */
  const run = (secrets: WorkerSecrets, ...args: string[]) =>
    runCommand(['keys', ...args, ...remote], { openSecrets: async () => secrets })
  const drop = (secrets: WorkerSecrets, kid: string = signing) => run(secrets, 'drop', kid, '--leaked', '--yes')
  const readEntries = async () => {
    const { stdout } = await runCommand(['log', '--keys', '--json', ...remote])
    return (JSON.parse(stdout) as { action: string; kid: string }[]).map(({ action, kid }) => `${action} ${kid}`)
  }
  const breakD1 = () => {
    cloudflare().failure = { call: /\/d1\//, status: 500, message: 'D1 is down', isPermanent: true }
  }
  /** The change that records a drop or a new key fails. */
  const breakEntry = (kind: string, hasEffect = false) => {
    const body = new RegExp(`insert into .{0,2}change_record.*"${kind}"`, 's')
    cloudflare().failure = { call: /\/raw$/, body, status: 500, message: 'Down.', hasEffect, isPermanent: true }
  }
  const repairD1 = () => void (cloudflare().failure = undefined)
  const listKids = ({ values }: ReturnType<typeof makeSecrets>) => [...values.keys()].map((name) => name.slice(-10))
  const findNew = (secrets: ReturnType<typeof makeSecrets>) =>
    listKids(secrets).find((kid) => ![signing, earlier, next].includes(kid as never)) ?? ''
  const record = (secrets: WorkerSecrets, kid: string) => run(secrets, 'record', kid)
  const notRecorded = (made: string) => {
    const [repeat, add] = [`drop ${signing} --leaked`, `record ${made}`].map(
      (words) => `.*: npm run -s ops -- keys ${words} --remote --env staging\n`,
    )
    return expect.stringMatching(
      `The record may lack the drop of ${signing} and the new key ${made}\\.\n${repeat}${add}$`,
    )
  }
  afterEach(repairD1)

  test('is dropped while D1 fails; the two commands that it prints record its drop and the new key, once', async () => {
    const secrets = makeSecrets()
    breakD1()
    const first = await drop(secrets)
    const made = findNew(secrets)
    expect(first).toEqual({ code: 2, stdout: '', stderr: notRecorded(made) })
    expect(first.stderr).toContain(`[staging] The key ${signing} is dropped, and ${made} signs in its place.\n`)
    expect(listKids(secrets).toSorted()).toEqual([earlier, made, next].toSorted())

    expect(await drop(secrets)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('D1 is down') })
    repairD1()
    for (const [dropped, added] of [
      ['Recorded the drop of', 'Recorded the key'],
      ['nothing changed.', 'The record already has the key'],
    ] as const) {
      expect(await drop(secrets)).toMatchObject({ code: 0, stderr: expect.stringContaining(dropped) })
      expect(await record(secrets, made)).toMatchObject({ code: 0, stderr: expect.stringContaining(added) })
      expect(await readEntries()).toEqual([`keys-rotate ${made}`, `keys-drop ${signing}`])
    }
  })

  test('that comes back is not recorded as a new one', async () => {
    const secrets = createMemorySecrets(`JWT_KEY_${signing}`, `JWT_KEY_${earlier}`)
    await drop(secrets)
    await secrets.put({ [`JWT_KEY_${signing}`]: 'x' })
    expect((await record(secrets, signing)).stderr).toContain('nothing changed')
    expect((await record(secrets, '1600000000')).stderr).toMatch(/^There is no key "1600000000"\.\n/)
  })

  test('has a successor whose ID is of Cloudflare’s clock, whatever this machine’s and D1’s say', async () => {
    const secrets = makeSecrets()
    const startSeconds = Math.floor((performance.timeOrigin + performance.now()) / 1000)
    const { code, stdout } = await drop(secrets)
    const made = Number(findNew(secrets))
    expect(code).toBe(0)
    expect([0, 1, 2]).toContain(made - startSeconds)
    expect(stdout).toMatch(new RegExp(`^${made} +signs `, 'm'))
  })

  test.each([
    ['keys-rotate', false],
    ['keys-drop', false],
    ['keys-drop', true],
  ])('is recorded by the repetition when D1 fails at the entry %s (it had its effect: %s)', async (kind, hasEffect) => {
    const secrets = createMemorySecrets(`JWT_KEY_${signing}`)
    breakEntry(kind, hasEffect)
    expect((await drop(secrets)).stderr).toEqual(notRecorded(findNew(secrets)))
    repairD1()
    await drop(secrets)
    await record(secrets, findNew(secrets))
    expect((await readEntries()).toSorted()).toEqual([`keys-drop ${signing}`, `keys-rotate ${findNew(secrets)}`])
  })

  test('whose successor leaks as well is dropped, and all of it is recorded later', async () => {
    const secrets = createMemorySecrets()
    await run(secrets, 'rotate')
    const first = findNew(secrets)
    breakD1()
    await drop(secrets, first)
    const second = findNew(secrets)
    await drop(secrets, second)
    const third = findNew(secrets)
    repairD1()
    await drop(secrets, second)
    await drop(secrets, first)
    await record(secrets, third)
    expect(listKids(secrets)).toEqual([third])
    expect(await readEntries()).toEqual([
      `keys-rotate ${third}`,
      `keys-drop ${first}`,
      `keys-drop ${second}`,
      `keys-rotate ${first}`,
    ])
  })

  test.each([true, false])(
    'whose change failed (it had its effect: %s) is dropped and recorded by a repetition',
    async (hasEffect) => {
      const secrets = createMemorySecrets(`JWT_KEY_${signing}`)
      const put: WorkerSecrets['put'] = async (change) => {
        if (hasEffect) await secrets.put(change)
        throw new UserError('No answer.')
      }
      const { code, stdout, stderr } = await drop({ ...secrets, put })
      expect({ code, stdout, entries: await readEntries() }).toEqual({ code: 2, stdout: '', entries: [] })
      expect(stderr).toMatch(
        /^No answer\.\nIt is not known whether the key \d+ is dropped, .*\n.* keys drop \d+ --leaked .*\n$/,
      )
      expect((await drop(secrets)).code).toBe(0)
      expect(listKids(secrets)).toEqual([findNew(secrets)])
      const made = hasEffect ? [] : [`keys-rotate ${findNew(secrets)}`]
      expect(await readEntries()).toEqual([`keys-drop ${signing}`, ...made])
    },
  )

  test('that is not in use is only recorded, after a question', async () => {
    const secrets = createMemorySecrets(`JWT_KEY_${earlier}`)
    const { code, stderr } = await run(secrets, 'drop', signing, '--leaked')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^\[staging\] The key \d+ is not in use\.\n\[staging\] The drop of the key \d+ will be recorded\. /,
    )
    expect(await readEntries()).toEqual([])
    expect((await run(secrets, 'drop', 'x', '--leaked')).stderr).toMatch(/^There is no key "x"\.\n/)
    expect(listKids(secrets)).toEqual([earlier])
  })
})
