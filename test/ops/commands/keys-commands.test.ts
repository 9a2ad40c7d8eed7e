import { beforeEach, expect, test } from 'vitest'
import type { CommandContext } from '../../../src/ops/commands/command-context.ts'
import type { Key, KeyRing } from '../../../src/ops/core/key-ring.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { printed, readTable, refused, runCommand, type Terminal } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const nowMs = Date.parse('2026-11-21T12:00:00Z')
const signing = '20261121T110000Z_aaaaaaaa'
const earlier = '20261118T120000Z_bbbbbbbb'
const waiting = '20261120T120000Z_cccccccc'
const remote = ['--remote', '--env', 'staging']

function makeKeyRing(overrides: Partial<KeyRing> = {}) {
  const calls: string[] = []
  const list: Key[] = [
    { kid: signing, use: 'signs' },
    { kid: earlier, use: 'verifies' },
    { kid: 'OLD', use: 'verifies' },
    { kid: waiting, use: 'waits' },
  ]
  const ring: KeyRing = {
    list: async () => list,
    checkEditable: async () => {},
    rotate: async ({ waitSeconds }) => void calls.push(`rotate ${waitSeconds}`),
    drop: async ({ kid, use }) => void calls.push(`drop ${kid} ${use}`),
    ...overrides,
  }
  return { calls, ring }
}

const bindings = useMemoryBindings()
beforeEach(() => emptyDatabase(bindings()))

const keys = (args: string[], ring = makeKeyRing().ring, terminal: Terminal = {}) => {
  const clock = { nowMs: () => nowMs, sleep: async () => {} }
  const withStore: CommandContext['withStore'] = (target, work) => work(openBindingStore(bindings(), target))
  return runCommand(['keys', ...args], { clock, openKeyRing: () => ring, withStore }, terminal)
}

test('keys list prints a table, an array, or a note that there is none', async () => {
  expect(await keys(['list'])).toEqual(
    printed(
      [
        'KID                        USE       AGE',
        '20261121T110000Z_aaaaaaaa  signs     60 min',
        '20261118T120000Z_bbbbbbbb  verifies  3 d',
        'OLD                        verifies  unknown',
        '20261120T120000Z_cccccccc  waits     24 h\n',
      ].join('\n'),
    ),
  )
  const { stdout } = await keys(['list', '--json'])
  const never = { droppedAt: null, endsWithDeploy: false, startsWithDeploy: false }
  expect((JSON.parse(stdout) as object[]).slice(0, 3)).toEqual([
    { kid: signing, use: 'signs', createdAt: '2026-11-21T11:00:00Z', ...never },
    { kid: earlier, use: 'verifies', createdAt: '2026-11-18T12:00:00Z', ...never },
    { kid: 'OLD', use: 'verifies', createdAt: null, ...never },
  ])
  expect(await keys(['list'], makeKeyRing({ list: async () => [] }).ring)).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No key was created with `keys rotate`.\n',
  })
})

test('keys list and keys rotate show a dropped key that is back, as after a rollback', async () => {
  expect((await keys(['drop', earlier])).code).toBe(0)
  const warning = new RegExp(
    `^Warning: The key ${earlier} was dropped at \\S+Z, and verifies tokens again\\. Drop it again: npm run -s ops -- keys drop ${earlier}$`,
    'm',
  )
  for (const command of ['list', 'rotate']) {
    const { stdout, stderr } = await keys([command])
    expect(stdout).toContain(`${earlier}  verifies, though dropped  3 d`)
    expect(stderr).toMatch(warning)
  }
  const { stdout } = await keys(['list', '--json'])
  expect((JSON.parse(stdout) as object[])[1]).toMatchObject({ kid: earlier, droppedAt: expect.stringMatching(/Z$/) })
})

test('keys list shows what the next deploy changes after a rollback', async () => {
  const list = async (): Promise<Key[]> => [
    { kid: earlier, use: 'signs' },
    { kid: 'OLD', use: 'verifies', endsWithDeploy: true },
    { kid: signing, use: 'signs', startsWithDeploy: true },
  ]
  const { ring } = makeKeyRing({ list })
  expect(readTable((await keys(['list'], ring)).stdout).map(([, use]) => use)).toEqual([
    'USE',
    'signs',
    'verifies, until the next deploy',
    'signs, from the next deploy',
    undefined,
  ])
  const rows = JSON.parse((await keys(['list', '--json'], ring)).stdout) as Key[]
  expect(rows.map(({ endsWithDeploy, startsWithDeploy }) => [endsWithDeploy, startsWithDeploy])).toEqual([
    [false, false],
    [true, false],
    [false, true],
  ])
})

test('keys list works without a database', async () => {
  const withStore = () => Promise.reject(new UserError('There is no database.'))
  const openKeyRing = () => makeKeyRing().ring
  const { code, stdout, stderr } = await runCommand(['keys', 'list', '--json'], { openKeyRing, withStore })
  expect([code, (JSON.parse(stdout) as object[]).length]).toEqual([0, 4])
  expect(stderr).toBe('Warning: it is not known whether a key was dropped before: There is no database.\n')
})

test('keys rotate prints the keys, and what to do with a local Worker', async () => {
  const { calls, ring } = makeKeyRing()
  const { code, stdout, stderr } = await keys(['rotate'], ring)
  expect([code, stdout.split('\n').length, stderr]).toEqual([0, 6, 'Restart npm run dev to use the change.\n'])
  expect((await keys(['rotate', '--json'], ring)).stderr).toBe('')
  expect((await keys(['rotate', ...remote], ring)).stderr).toBe('')
  expect((await keys(['rotate', ...remote, '--wait', '0'], ring)).stderr).toBe('')
  expect(calls).toEqual(['rotate 60', 'rotate 60', 'rotate 60', 'rotate 0'])
})

test('keys rotate shows how long it waits', async () => {
  const { ring } = makeKeyRing({ rotate: async ({ onWait }) => onWait('KID', 20) })
  const { stderr } = await keys(['rotate', ...remote, '--wait', '40'], ring, { isTTY: true, patienceMs: 0 })
  expect(stderr).toBe(`\rKID verifies, and signs in 40 s [${'#'.repeat(15)}${'.'.repeat(15)}] 50 %\u001b[K\r\u001b[K`)
})

test('keys rotate asks before it replaces a key that was set by other means', async () => {
  const { ring } = makeKeyRing({ rotate: ({ confirmReplacement }) => confirmReplacement() })
  expect(await keys(['rotate', ...remote], ring)).toEqual(
    refused(
      '[staging] JWT_KEYS was not set by this command and can’t be read back: live tokens will be refused. There is no terminal to ask: add --yes to go ahead. Nothing was changed.\n',
    ),
  )
  expect((await keys(['rotate', ...remote, '--yes'], ring)).code).toBe(0)
})

test('keys drop asks first, and says what the effect is', async () => {
  const { calls, ring } = makeKeyRing()
  const questions = [
    [earlier, 'Tokens that it signed will be refused.'],
    [waiting, 'It has not signed a token yet.'],
  ] as const
  for (const [kid, effect] of questions) {
    const { code, stderr } = await keys(['drop', kid, ...remote], ring)
    expect(code).toBe(2)
    expect(stderr).toContain(`[staging] The key ${kid} will be deleted. ${effect} There is no terminal to ask`)
  }
  expect(calls).toEqual([])
  expect((await keys(['drop', earlier, ...remote, '--yes'], ring)).code).toBe(0)
  expect((await keys(['drop', earlier], ring)).stderr).toMatch(/^Restart npm run dev to use the change\.$/m)
  expect(calls).toEqual([`drop ${earlier} verifies`, `drop ${earlier} verifies`])
})

test.each([
  [['drop', signing], `The key ${signing} signs. Rotate first: npm run -s ops -- keys rotate`],
  [['drop', 'x'], 'There is no key "x". See: npm run -s ops -- keys list'],
  [['rotate', '--wait', '5'], '--wait is for deployed keys: add --remote.'],
  [['rotate', '--wait', '1m', ...remote], '--wait must be a number of seconds, such as 60; it is "1m".'],
])('keys %j is a mistake', async (args, stderr) => {
  expect(await keys(args)).toEqual(refused(`${stderr}\n`))
})

test('keys rotate and keys drop are in the record, with who and why', async () => {
  const { ring } = makeKeyRing({ rotate: ({ recorded }) => recorded('NEW', async () => {}) })
  await keys(['rotate', '--as', 'amina', '--note', 'Yearly.'], ring)
  await keys(['drop', earlier], ring)
  expect(readTable((await keys(['log'])).stdout)).toEqual([
    ['ENTRY', 'TIME', 'KEY', 'CHANGE', 'BY', 'NOTE'],
    ['2', expect.stringMatching(/Z$/), earlier, 'drop', 'tester@example.com'],
    ['1', expect.stringMatching(/Z$/), 'NEW', 'rotate', 'amina', 'Yearly.'],
    [''],
  ])
  const entries: unknown = JSON.parse((await keys(['log', '--json'])).stdout)
  expect(entries).toMatchObject([
    { id: 2, change: 'keys-drop', kid: earlier, command: `keys drop ${earlier}` },
    { id: 1, change: 'keys-rotate', kid: 'NEW', actor: 'amina', command: 'keys rotate --as amina --note Yearly.' },
  ])
})
