import { beforeEach, expect, test } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import type { Target } from '../../../src/ops/shared/target.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans, spreadTimes } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { createMemorySecrets, live } from '../support/memory-secrets.ts'
import { printed, readTable, runCommand, type Terminal } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useMemoryBindings()
const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE'] })
let approval = 'off'

beforeEach(async () => {
  await emptyDatabase(bindings())
  await bindings().DB.prepare("delete from sqlite_sequence where name = 'publications'").run()
  approval = 'off'
  await publishPlans(openDatabase(bindings().DB), [cash])
})

const openStore = (target: Target) => openBindingStore(bindings(), target, { CATALOG_APPROVAL: approval })
const ops = (words: string, terminal: Terminal = {}, findActor?: () => Promise<undefined>) =>
  runCommand(
    words.split(' '),
    {
      withStore: (target, work) => work(openStore(target)),
      inspectEnvironment: async () => ({ migrations: [], deployment: undefined }),
      openSecrets: async () => createMemorySecrets({ name: 'JWT_KEY_1790000000', ...live }),
      ...(findActor && { findActor }),
    },
    terminal,
  )
const close = 'plan close cash --note Full.'
const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g
const withoutTimes = (text: string) => text.replaceAll(isoTime, 'TIME')
const nextYear = new Date().getUTCFullYear() + 1

test('catalog log prints a table, the latest first, or an array', async () => {
  await ops(`${close} --as amina`)
  const { stdout } = await ops('catalog log')
  expect(readTable(withoutTimes(stdout))).toEqual([
    ['NUMBER', 'STATE', 'TIME', 'PLANS', 'BY', 'NOTE'],
    ['2', 'published', 'TIME', '1', 'amina', 'Full.'],
    ['1', 'published', 'TIME', '1', 'test'],
    [''],
  ])
  const [row] = JSON.parse((await ops('catalog log --json --plan cash --since 1h')).stdout)
  expect(row).toMatchObject({ id: 2, state: 'published', actor: 'amina', note: 'Full.', planCount: 1 })
  expect(await ops('catalog log --pending')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No pending publications.\n',
  })
})

test('catalog show prints who, when and why, and what partners see changed', async () => {
  await ops(close)
  const { stdout } = await ops('catalog show 2')
  expect(withoutTimes(stdout).replace(/revision +\d+/, 'revision N')).toBe(`number     2
state      published
actor      tester@example.com
command    plan close cash --note Full.
note       Full.
made       TIME
published  TIME, by tester@example.com
revision N
plans      1
KE: 0 appear, 0 disappear, 1 change
  ~ cash
      isInvestable: true -> false
      nonInvestableNote: null -> "Full."
`)
  const shown = JSON.parse((await ops('catalog show 2 --json')).stdout)
  expect(shown.plans).toEqual([
    { planId: 1, before: cash, after: { ...cash, isInvestable: false, nonInvestableNote: 'Full.' } },
  ])
})

test('catalog undo takes a publication back, and says how to take that back', async () => {
  await ops(close)
  expect((await ops('catalog undo 2')).stdout).toBe(`KE: 0 appear, 0 disappear, 1 change
  ~ cash
      isInvestable: false -> true
      nonInvestableNote: "Full." -> null
Published as publication 3. To take it back: npm run -s ops -- catalog undo 3
`)
  expect(JSON.parse((await ops('catalog undo 3 --json')).stdout).publication).toMatchObject({ id: 4 })
})

test('catalog undo --plan takes back each plan that it names', async () => {
  await publishPlans(
    openDatabase(bindings().DB),
    [2, 3, 4].map((id) => makePlan({ id })),
  )
  await ops('catalog undo 2 --plan plan-2 --plan 3 --plan plan-3')
  expect(JSON.parse((await ops('plan list --json')).stdout)).toMatchObject([{ id: 1 }, { id: 4 }])
})

test('catalog undo --dry-run shows the difference, and changes nothing', async () => {
  await ops(close)
  expect((await ops('catalog undo 2 --dry-run')).stdout).toMatch(/^KE: 0 appear, 0 disappear, 1 change\n/)
  expect(JSON.parse((await ops('catalog log --json')).stdout)).toHaveLength(2)
})

test('a publication at a time is listed until it is cancelled, with its conflict, and the change that causes it warns', async () => {
  const scheduled = await ops(`${close} --at ${nextYear}-12-01T06:00+03:00`)
  expect(scheduled.stdout).toBe(`cash will be viewable in KE, and closed to investment.
Publication 2 is scheduled for ${nextYear}-12-01T03:00:00Z. To stop it: npm run -s ops -- catalog cancel 2
`)
  expect(JSON.parse((await ops('catalog log --pending --json')).stdout)).toMatchObject([{ id: 2, state: 'scheduled' }])
  expect((await ops('plan offer cash --country UG')).stderr).toBe('')
  expect((await ops('plan close cash --note Paused.')).stderr).toContain(
    'publication 2 by tester@example.com will conflict',
  )
  expect((await ops('catalog log --pending')).stdout).toContain(
    'will conflict: others changed nonInvestableNote of cash',
  )
  expect((await ops('plan show cash')).stderr).toContain('conflicts now: others changed nonInvestableNote of cash')
  expect(await ops('catalog cancel 2')).toEqual(printed('Publication 2 is cancelled.\n'))
})

test('catalog approve says as which publication it was merged, and catalog redo makes a conflicted one again', async () => {
  approval = 'required'
  await ops(`${close} --as amina`)
  approval = 'off'
  await ops('plan set cash hint=New')
  expect((await ops('catalog approve 2 --as boris')).stdout).toContain(
    'Publication 2 is published as publication 4, merged with later changes.\n',
  )
  approval = 'required'
  await ops('plan open cash --as amina')
  approval = 'off'
  await ops('plan set cash nonInvestableNote=Paused.')
  const asked = await ops('catalog approve 5 --as boris --remote --env staging')
  expect(asked.stderr).toContain(
    '[staging] Publication 5 will end as conflicted, for catalog redo. There is no terminal',
  )
  expect((await ops('catalog approve 5 --as boris')).code).toBe(2)
  expect((await ops('catalog redo 5 --dry-run')).stdout).toContain('nonInvestableNote: "Paused." -> null')
  const redone = await ops('catalog redo 5')
  expect([redone.code, redone.stderr]).toEqual([
    0,
    'Warning: it replaces what others changed: nonInvestableNote of cash.\n',
  ])
  expect(JSON.parse((await ops('plan show cash --json')).stdout)).toMatchObject({ hint: 'New', isInvestable: true })
  expect(JSON.parse((await ops('catalog show 5 --json')).stdout)).toMatchObject({
    state: 'cancelled',
    decidedNote: 'Made again as publication 7.',
  })
})

test('with approval, another operator approves or cancels', async () => {
  approval = 'required'
  expect((await ops(`${close} --as amina`)).stdout).toContain(
    'Publication 2 needs the approval of another operator: npm run -s ops -- catalog approve 2\n',
  )
  expect((await ops('catalog approve 2 --as amina')).stderr).toBe(
    'Publication 2 is by amina: another operator must approve it.\n',
  )
  expect((await ops('catalog approve 2 --as boris --note Checked.')).stdout).toMatch(
    /^KE: 0 appear, 0 disappear, 1 change\n.*\nPublication 2 is published\.\n$/s,
  )
  expect((await ops('catalog show 2')).stdout).toMatch(/^approved +.*, by boris\nbecause +Checked\.$/m)
  await ops('plan open cash --as amina')
  expect((await ops('catalog cancel 3 --as boris --note No.')).stdout).toBe('Publication 3 is cancelled.\n')
  expect(withoutTimes((await ops('catalog show 3')).stdout)).toMatch(/^cancelled +TIME, by boris\nbecause +No\.$/m)
  // The operator who approves a change sees its warnings, too.
  await ops('plan set cash performance1=1300 --as amina')
  expect((await ops('catalog approve 4 --as boris')).stderr).toBe(
    'Warning: cash: performance1 is 1300 % per year. Is it a misplaced decimal point?\n',
  )
})

test('catalog export and plan show print the past', async () => {
  await spreadTimes(bindings().DB)
  await ops(close)
  const at = '--at 1970-01-01T00:16:40Z'
  expect(JSON.parse((await ops(`plan show cash --json ${at}`)).stdout)).toEqual(cash)
  expect(JSON.parse((await ops(`catalog export ${at}`)).stdout).plans).toEqual([cash])
  expect((await ops('catalog export --at 1970-01-01T00:16:39Z')).stderr).toContain(
    'There was no catalog at 1970-01-01T00:16:39Z.',
  )
})

test.each([
  [`${close} --at 2020-01-01T06:00Z`, /^--at 2020-01-01T06:00:00Z is in the past: it is .*\. Name a later time, .*\n$/],
  [`${close} --at 2030-01-01T06:00`, /^--at must be a time with its zone, such as .*; it is "2030-01-01T06:00"\.\n$/],
  [
    `${close} --at 2030-01-01T06:00:30Z`,
    /^--at must be a whole minute, such as 2026-12-01T06:00\+03:00; it is "2030-01-01T06:00:30Z"\.\n$/,
  ],
  ['plan show cash --at tomorrow', /^--at must be a time with its zone, .*; it is "tomorrow"\.\n$/],
  ['catalog export --at 2096-01-01T06:00Z', /^--at 2096-01-01T06:00:00Z is in the future: /],
  ['catalog show 0', /^The number of a publication is a whole number, such as 12; it is "0"\.\n$/],
  ['catalog undo 0 --at now', /^The number of a publication is .*\n--at must be a time .*; it is "now"\.\n$/],
  ['catalog undo 9', /^There is no publication 9\. See: npm run -s ops -- catalog log\n$/],
  ['catalog approve 1', /^Publication 1 does not wait for approval: it is published\. To take it back, undo it\.\n$/],
  ['catalog cancel 1', /^Publication 1 can’t be cancelled: it is published\. To take it back, undo it\.\n$/],
  ['catalog log --since yesterday', /^--since must be a duration such as 7d, a date .*; it is "yesterday"\.\n$/],
  ['plan open cash --as ', /^The actor must be 1 to 100 visible characters on one line; it is ""\.\n$/],
])('%s is refused in one line for each mistake, and changes nothing', async (words, message) => {
  const { code, stdout, stderr } = await ops(words)
  expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(message)])
  expect(JSON.parse((await ops('catalog log --json')).stdout)).toHaveLength(1)
})

test('a deployed environment is never changed by nobody', async () => {
  const { code, stderr } = await ops('plan open cash --remote --env staging', {}, () => Promise.resolve(undefined))
  expect([code, stderr]).toEqual([2, 'Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.\n'])
  await ops(close, {}, () => Promise.resolve(undefined))
  expect(JSON.parse((await ops('catalog log --json')).stdout)[0].actor).toBe('local')
})

test('doctor prints one line each, and exits with 3 when something needs a fix', async () => {
  const fine = await ops('doctor')
  expect([fine.code, fine.stderr]).toEqual([0, ''])
  expect(fine.stdout).toMatch(/^(ok     |warning)  migrations: all 0 applied\.\n((ok     |warning)  [a-z]+: .+\.\n)+$/)
  await ops(`${close} --at ${nextYear}-12-01T06:00Z`)
  await bindings().DB.prepare('update publications set due_at = 600 where id = 2').run()
  const { code, stdout, stderr } = await ops('doctor')
  expect([code, stdout, stderr]).toEqual([
    3,
    expect.stringMatching(/^problem  publications: Publication 2 was due at .*$/m),
    '1 problem needs a fix.\n',
  ])
  const checks: { level: string }[] = JSON.parse((await ops('doctor --json')).stdout)
  expect(checks.filter(({ level }) => level === 'problem')).toMatchObject([{ name: 'publications' }])
})

test('a change that looks wrong is a warning locally, and a question with --remote, unless --yes', async () => {
  const set = 'plan set cash performance1=1300'
  const warning = 'Warning: cash: performance1 is 1300 % per year. Is it a misplaced decimal point?\n'
  const remote = await ops(`${set} --remote --env staging`)
  expect([remote.code, remote.stderr]).toEqual([
    2,
    `${warning}[staging] Are the warnings above intended? There is no terminal to ask: add --yes to go ahead. Nothing was changed.\n`,
  ])
  expect((await ops('plan set cash performance1=13.5 --remote --env staging')).stderr).toBe('')
  expect((await ops(`${set} --remote --env staging --yes`)).code).toBe(0)
  expect((await ops('plan set cash performance1=13')).stderr).toBe('')
  expect((await ops('plan withdraw cash --country KE')).stderr).toBe(
    'Warning: KE loses its last plan: its list will be empty.\nWarning: cash: It becomes viewable in no country.\n',
  )
  // The figures of a month are published after its end.
  const scheduled = `plan set cash performanceDate=${nextYear}-11-30 --remote --env staging --at ${nextYear}-12-01T06:00Z`
  expect(await ops(scheduled)).toMatchObject({ code: 0, stderr: '' })
})

test('a dry run warns as well, and removing most of a catalog is never silent', async () => {
  const file = JSON.stringify({ plans: [] })
  const { code, stdout, stderr } = await ops('catalog import - --prune --dry-run', { stdin: file })
  expect([code, stdout.split('\n').at(-2)]).toEqual([0, expect.stringContaining('1 removed')])
  expect(stderr).toContain('Warning: KE loses its last plan: its list will be empty.')
})
