import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CommandContext } from '../../../src/ops/commands/command-context.ts'
import type { WorkerSecrets } from '../../../src/ops/store/worker-secrets.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { createMemorySecrets } from '../support/memory-secrets.ts'
import { printed, readTable, refused, runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const [signing, earlier, next] = ['1795154400', '1795003200', '1795262460'] as const
const remote = ['--remote', '--env', 'staging']
const makeSecrets = () => createMemorySecrets(...[signing, earlier, next].map((kid) => `JWT_KEY_${kid}`))

const bindings = useMemoryBindings()
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-11-21T12:00:00Z') })
  await emptyDatabase(bindings())
})
afterEach(() => vi.useRealTimers())

const keys = (args: string[], secrets: WorkerSecrets = makeSecrets()) => {
  const withStore: CommandContext['withStore'] = (target, work) => work(openBindingStore(bindings(), target))
  return runCommand(['keys', ...args], { openSecrets: async () => secrets, withStore })
}

test('keys list prints a table, an array, or a note that there is none', async () => {
  expect(await keys(['list'])).toEqual(
    printed(
      [
        'KID         USE       FROM',
        '1795262460  next      2026-11-21T12:01:00Z',
        '1795154400  signs     2026-11-20T06:00:00Z',
        '1795003200  verifies  2026-11-18T12:00:00Z\n',
      ].join('\n'),
    ),
  )
  const [, row] = JSON.parse((await keys(['list', '--json'])).stdout) as object[]
  expect(row).toEqual({
    kid: signing,
    use: 'signs',
    signsFrom: '2026-11-20T06:00:00Z',
    droppedAt: null,
  })
  expect(await keys(['list'], createMemorySecrets())).toEqual({ code: 0, stdout: '', stderr: 'There is no key.\n' })
})

test('keys list shows a dropped key that a rollback brought back', async () => {
  expect((await keys(['drop', earlier])).code).toBe(0)
  const { stdout, stderr } = await keys(['list'])
  expect(readTable(stdout).map(([, use]) => use)).toEqual([
    'USE',
    'next',
    'signs',
    'verifies, though dropped',
    undefined,
  ])
  expect(stderr).toMatch(new RegExp(`^Warning: The key ${earlier} was dropped at \\S+Z, and is in use\\. .*\n$`))
  const rows: unknown = JSON.parse((await keys(['list', '--json'])).stdout)
  expect(rows).toMatchObject([{ droppedAt: null }, { droppedAt: null }, { droppedAt: '2026-11-21T12:00:00Z' }])
})

test('keys list works without a database', async () => {
  const withStore = () => Promise.reject(new UserError('There is no database.'))
  const openSecrets = async () => makeSecrets()
  const { code, stdout, stderr } = await runCommand(['keys', 'list', '--json'], { openSecrets, withStore })
  expect([code, (JSON.parse(stdout) as object[]).length]).toEqual([0, 3])
  expect(stderr).toBe('Warning: it is not known whether a key was dropped before: There is no database.\n')
})

test('keys rotate prints the keys, and what to do with a local Worker', async () => {
  const { stdout, stderr } = await keys(['rotate'])
  expect(readTable(stdout)[2]).toEqual(['1795262400', 'signs', '2026-11-21T12:00:00Z'])
  expect(stderr).toBe('[local] Restart npm run dev to use the change.\n')
  expect((await keys(['rotate', '--json'])).stderr).toBe('')
  const deployed = await keys(['rotate', ...remote])
  expect([deployed.stderr, readTable(deployed.stdout)[1]]).toEqual([
    '[staging] Done.\n',
    ['1795262520', 'next', '2026-11-21T12:02:00Z'],
  ])
})

test('keys drop asks first, and says what the effect is', async () => {
  const secrets = makeSecrets()
  for (const [args, effect] of [
    [[earlier], ''],
    [[signing, '--leaked'], ' A new key will sign at once.'],
  ] as const) {
    const question = `[staging] The key ${args[0]} will be deleted. Tokens that it signed will be refused.${effect} There`
    const { code, stderr } = await keys(['drop', ...args, ...remote], secrets)
    expect([code, stderr.startsWith(question), secrets.values.size]).toEqual([2, true, 3])
  }
  const { code, stdout } = await keys(['drop', signing, '--leaked', ...remote, '--yes'], secrets)
  expect([code, readTable(stdout).map(([kid, use]) => `${kid} ${use}`)]).toEqual([
    0,
    ['KID USE', `${next} next`, '1795262400 signs', `${earlier} verifies`, ' undefined'],
  ])
})

test('keys drop refuses a key that is needed', async () => {
  expect(await keys(['drop', signing])).toEqual(refused(expect.stringMatching(`^The key ${signing} is needed until `)))
})

test('keys rotate and keys drop are in the record, with who and why', async () => {
  await keys(['rotate', '--as', 'amina', '--note', 'Yearly.'])
  await keys(['drop', earlier])
  expect(readTable((await keys(['log'])).stdout)).toEqual([
    ['TIME', 'KEY', 'CHANGE', 'BY'],
    ['2026-11-21T12:00:00Z', earlier, 'drop', 'tester@example.com'],
    ['2026-11-21T12:00:00Z', '1795262400', 'rotate', 'amina: Yearly.'],
    [''],
  ])
  const entries: unknown = JSON.parse((await keys(['log', '--json'])).stdout)
  expect(entries).toMatchObject([
    { id: 2, change: 'keys-drop', kid: earlier, command: `keys drop ${earlier}` },
    { id: 1, change: 'keys-rotate', actor: 'amina', command: 'keys rotate --as amina --note Yearly.' },
  ])
})
