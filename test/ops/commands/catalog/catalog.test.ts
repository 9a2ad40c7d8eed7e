// What a transcript can't show of ops catalog: questions, progress, JSON, spreadsheets, and thousands of plans.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readXlsx, writeXlsx, type WriteSheet } from 'hucre/xlsx'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { formatCatalog } from '../../../../src/ops/core/file-formats/catalog-file.ts'
import { parseCsv } from '../../../../src/ops/core/file-formats/csv-file.ts'
import { showCell } from '../../../../src/ops/core/file-formats/plan-cells.ts'
import { parseXlsx } from '../../../../src/ops/core/file-formats/xlsx-file.ts'
import { decodeText } from '../../../../src/ops/store/text-encoding.ts'
import type { CatalogPlan } from '../../../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../../../src/db/catalog-queries.ts'
import { CloudflareError } from '../../../../src/ops/store/failure.ts'
import { publishDue } from '../../../../src/worker/publish-due.ts'
import { openOperatorDatabase } from '../../../support/operator-database.ts'
import { formatDifference } from '../../../../src/ops/commands/catalog/publication-output.ts'
import { makePlan } from '../../../support/make-plan.ts'
import { publishPlans, spreadTimes } from '../../../support/publish-plans.ts'
import { createFolder } from '../../../support/temporary-folder.ts'
import { interceptD1 } from '../../../support/unreliable-stores.ts'
import { openStores } from '../../support/binding-store.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { printed, readTable, runCommand, type Terminal } from '../../support/run-ops.ts'
import { emptyDatabase } from '../../support/test-database.ts'

const bindings = useMemoryBindings()
const before = [
  makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] }),
  makePlan({ id: 2, viewableIn: ['KE'] }),
  makePlan({ id: 3, viewableIn: ['KE', 'RW'] }),
]
let approval = 'off'

beforeEach(async () => {
  await emptyDatabase(bindings())
  await bindings().DB.prepare("delete from sqlite_sequence where name = 'publications'").run()
  approval = 'off'
  await publishPlans(openOperatorDatabase(bindings().DB), before)
})

const ops = (words: string, terminal: Terminal = {}, findActor?: () => Promise<undefined>) =>
  runCommand(
    words.split(' '),
    {
      withStore: openStores(bindings, { CATALOG_APPROVAL: approval }),
      ...(findActor && { findActor }),
    },
    terminal,
  )
const readJson = async (words: string, terminal?: Terminal) => JSON.parse((await ops(words, terminal)).stdout)
const importPlans = (plans: CatalogPlan[], flags = '', terminal: Terminal = {}) =>
  ops(`catalog import -${flags}`, { stdin: formatCatalog(plans), ...terminal })
/** Runs the commands of a test in an empty folder. */
async function useFolder(): Promise<string> {
  const folder = await createFolder()
  vi.stubEnv('INIT_CWD', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  return folder
}
const exportPlans = async () => (await readJson('catalog export')).plans

test('a difference says each change once, as people write it', () => {
  const plan = makePlan({ about: 'Holds treasury bills. '.repeat(10), viewableIn: ['KE', 'UG'] })
  const bonds = { id: 7, name: 'Bonds', displayName: 'Earn', tagLine: 'Steady.' }
  const after = makePlan({
    about: `${plan.about}Pays monthly.`,
    category: bonds,
    minTopUpAmounts: { KES: 1000, USD: 5 },
    fundManager: null,
    viewableIn: ['KE', 'TZ'],
  })
  expect(formatDifference([{ before: plan, after }])).toEqual([
    // A long text is shown from shortly before the first difference.
    '~ plan-1: appears in TZ, disappears from UG, about "…lds treasury bills. " → "…lds treasury bills. Pays monthly.", minTopUpAmounts.KES 500 → 1000, minTopUpAmounts.USD nothing → 5, category "Money Market" → "Bonds", fundManager "Société d’Épargne Ɔdum" → nothing',
    'Plans by country: KE 1 changed; TZ 1 new; UG 1 gone',
  ])
  const calm = { ...after, category: { ...bonds, tagLine: 'Calm.' }, viewableIn: [] }
  expect(formatDifference([{ before: { ...after, viewableIn: [] }, after: calm }])).toEqual([
    '~ plan-1: category.tagLine "Steady." → "Calm."',
    'Partners see no difference.',
  ])
})

test('plans with the same change share a line, and thousands of changes one for each field', () => {
  const many = Array.from({ length: 10_000 }, (_, id) => makePlan({ id, performance1: id }))
  expect(formatDifference(many.map((after) => ({ before: null, after })))).toEqual([
    '+ plan-0, plan-1, plan-2 and 9997 more: new, appears in KE',
    'Plans by country: KE 10000 new',
  ])
  const edit = (plan: CatalogPlan) => ({ ...plan, performance1: 0.5, ...(plan.id === 7 ? { name: 'New' } : {}) })
  expect(formatDifference(many.map((plan) => ({ before: plan, after: edit(plan) })))).toEqual([
    '~ plan-0, plan-1, plan-2 and 9997 more: performance1, such as 0 → 0.5',
    '~ plan-7: name, such as "Mwamba Money Market Fund" → "New"',
    'Plans by country: KE 10000 changed',
  ])
})

test('--json of a dry run has how each plan changes, and nothing is changed', async () => {
  const after = [makePlan({ id: 1, identifier: 'cash', name: 'New', viewableIn: ['KE', 'TZ'] }), ...before.slice(2)]
  const { stdout } = await importPlans(after, ' --dry-run --prune --json')
  const removed = { identifier: 'plan-2', kind: 'removed', appears: [], disappears: ['KE'], stays: [] }
  expect(JSON.parse(stdout)).toMatchObject({
    added: 0,
    changed: 1,
    removed: 1,
    unchanged: 1,
    isMerged: false,
    plans: [
      {
        identifier: 'cash',
        kind: 'changed',
        appears: ['TZ'],
        disappears: ['UG'],
        stays: ['KE'],
        fields: { name: { to: 'New' } },
      },
      removed,
    ],
    publication: null,
  })
  expect(await exportPlans()).toEqual(before)
})

test('100,000 defects are a few lines', async () => {
  const stdin = JSON.stringify({ plans: Array.from({ length: 3500 }, () => ({})) })
  const { code, stderr } = await ops('catalog import -', { stdin })
  const line = 'Plan number 1: name: expected text of 1 to 200 characters; found nothing. 3,499 more like this.'
  expect({ code, lines: stderr.split('\n') }).toEqual({ code: 2, lines: expect.arrayContaining([line]) })
  expect(stderr.split('\n').length).toBeLessThan(50)
})

test('people see the log of 30 days and what is pending, in a bounded number of queries; programs see all of it', async () => {
  for (let hint = 0; hint < 10; hint++) await ops(`plan set plan-2 hint=${hint} --at 2035-01-01T00:00Z`)
  await ops('partner create --short-name acme --name Acme --country KE')
  const { DB } = bindings()
  await DB.prepare(`update publications set created_at = 1, decided_at = iif(id = 1, 1, null)`).run()
  await DB.prepare(`update change_record set changed_at = 1`).run()
  for (let hint = 0; hint < 5; hint++) await ops(`plan set cash hint=${hint}`)
  const openSecrets = async () => createMemorySecrets()
  await runCommand(['keys', 'rotate'], { openSecrets, withStore: openStores(bindings) })
  for (const [flags, counts] of [
    ['', { publication: 15, key: 1 }],
    ['--since 1970-01-01', { publication: 16, partner: 1, key: 1 }],
    ['--since 1d', { publication: 5, key: 1 }],
    ['--json', { publication: 16, partner: 1, key: 1 }],
    ['--plan cash', { publication: 5 }],
    ['--plan plan-2', { publication: 10 }],
    ['--pending', { publication: 10 }],
    ['--partner acme', {}],
    ['--partner acme --json', { partner: 1 }],
    ['--keys', { key: 1 }],
  ] as const) {
    let queries = 0
    const counting = interceptD1(DB, async (call) => (queries++, call()))
    const withStore = openStores(() => ({ ...bindings(), DB: counting }))
    const { stdout } = await runCommand(`log ${flags}`.trim().split(' '), { withStore })
    const kinds = flags.includes('--json')
      ? JSON.parse(stdout).map(({ kind }: { kind: string }) => kind)
      : readTable(stdout)
          .slice(1, -1)
          .map(([, subject]) => subject?.split(' ')[0])
    const counted = Object.entries(Object.groupBy(kinds, String)).map(([kind, some]) => [kind, some?.length])
    expect({ flags, ...Object.fromEntries(counted) }).toEqual({ flags, ...counts })
    expect(queries).toBeLessThanOrEqual(8)
  }
  const all = await readJson('log --plan cash --json')
  expect(all[1].change.fields).toEqual({ hint: { from: '2', to: '3' } })
})

test('the log is written into a spreadsheet, with the changed fields on a second sheet, and no text is a formula', async () => {
  const folder = await useFolder()
  await ops('plan set cash performance1=14 hint=New --note =1+1')
  for (const file of ['log.csv', 'log.xlsx']) {
    const { code, stdout } = await ops(`log --plan cash --output ${file}`)
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Wrote 2 entries to ${file}.\n` })
  }
  const csv = parseCsv(decodeText(await readFile(join(folder, 'log.csv'))))
  const xlsx = await parseXlsx(await readFile(join(folder, 'log.xlsx')))
  const [entry] = await readJson('log --plan cash --json')
  for (const { sheets, note } of [
    { ...csv, note: "'=1+1" },
    { ...xlsx, note: '=1+1' },
  ]) {
    const [names, newest] = sheets[0]?.rows ?? []
    const cells = Object.fromEntries((names ?? []).map((name, index) => [showCell(name), showCell(newest?.[index])]))
    expect(cells).toMatchObject({
      note,
      createdAt: entry.createdAt,
      time: entry.decidedAt,
      subject: 'publication 2',
      change: expect.stringContaining('→ "New"'),
    })
  }
  const [log, changes] = (await readXlsx(await readFile(join(folder, 'log.xlsx')))).sheets
  expect(log?.name).toBe('Log')
  expect(changes?.rows.slice(0, 3)).toEqual([
    ['number', 'time', 'by', 'plan', 'name', 'field', 'before', 'after', 'note'],
    [2, expect.any(String), expect.any(String), 'cash', before[0]?.name, 'hint', before[0]?.hint, 'New', '=1+1'],
    [2, expect.any(String), expect.any(String), 'cash', before[0]?.name, 'performance1', 13.1, 14, '=1+1'],
  ])
})

test('an import asks before it changes or removes plans of a deployed environment, after the facts', async () => {
  const remote = ' --remote --env staging --prune'
  const question =
    '[staging] 3 plans will be changed or removed. There are warnings above. The change will be published at once.'
  const plans = [makePlan({ id: 1, identifier: 'cash', name: 'New' })]
  const alone = await importPlans(plans, remote)
  expect({ code: alone.code, stdout: alone.stdout, lines: alone.stderr.split('\n').slice(-3) }).toEqual({
    code: 2,
    stdout: expect.stringMatching(/^~ cash: disappears from UG, name .*\n- plan-2: removed/),
    lines: [`${question} There is no terminal to ask: add --yes to go ahead.`, 'Nothing was changed.', ''],
  })
  const answered = await importPlans(plans, remote, { isTTY: true })
  expect({ code: answered.code, stderr: answered.stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /Warning: 2 of 3 plans leave the catalog\.\n(.*\n)*.* Go ahead\? \[y\/N\] Nothing was changed\.\n$/,
    ),
  })
  expect(await exportPlans()).toEqual(before)
  // Plans that are only added are not asked about.
  const added = makePlan({
    id: 9,
    name: 'Added',
    coolName: 'Added',
    performanceDate: new Date().toISOString().slice(0, 10),
  })
  expect((await importPlans([...before, added], ' --remote --env staging')).code).toBe(0)
})

test('a change that looks wrong is a warning locally, and a question with --remote, unless --yes', async () => {
  const remote = '--remote --env staging'
  const set = `plan set cash performance1=1300 ${remote}`
  const warning = 'Warning: cash: performance1 is 1300 % per year. Is it a misplaced decimal point?\n'
  const { code, stderr } = await ops(set)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: `${warning}[staging] There are warnings above. The change will be published at once. There is no terminal to ask: add --yes to go ahead.\nNothing was changed.\n`,
  })
  const asked = await ops(set, { isTTY: true })
  expect({ ...asked, stdout: asked.stdout.split('\n')[0] }).toMatchObject({
    stdout: '~ cash: performance1 13.1 → 1300',
    stderr: expect.stringContaining(`${warning}[staging] `),
  })
  const json = await ops(`${set} --json`, { isTTY: true })
  expect({ ...json, stderr: json.stderr.replace(/^Plans by country: .*\n/m, '') }).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(`~ cash: performance1 13.1 → 1300\n${warning}[staging] There are`),
  })
  expect((await ops(`plan set cash performance1=13.5 ${remote}`)).stderr).toBe('')
  expect((await ops(`${set} --yes`)).code).toBe(0)
  expect((await ops('plan set cash performance1=13')).stderr).toBe('')
  // The figures of a month are published after its end.
  const year = new Date().getUTCFullYear() + 1
  const scheduled = `plan set cash performance1=13.2 performanceDate=${year}-11-30 ${remote} --at ${year}-12-01T06:00Z`
  expect(await ops(scheduled)).toMatchObject({ code: 0, stderr: '' })
})

test.each([
  ['+1h', 'at \\d'],
  ['-1h', '(at once|as soon as)'],
])('a question about a publication of the time %s names the time: %s', async (at, when) => {
  approval = 'required'
  await ops('plan close cash --public-note Full. --at 2035-01-01T00:00Z --as amina')
  const dueAt = Math.floor(Date.now() / 1000) + (at === '+1h' ? 3600 : -3600)
  await bindings().DB.prepare('update publications set due_at = ? where id = 2').bind(dueAt).run()
  for (const verb of ['approve', 'redo']) {
    const { stderr } = await ops(`catalog ${verb} 2 --remote --env staging`)
    expect(stderr).toMatch(new RegExp(`^\\[staging\\] .* will be published ${when}`, 'm'))
  }
})

test('an approval says that it was merged, and asks what happens to one that conflicts', async () => {
  approval = 'required'
  await ops('plan close cash --public-note Full. --as amina')
  await ops('plan set plan-2 performance1=1300 --as amina')
  approval = 'off'
  // The operator who approves a change sees its warnings, too.
  expect((await ops('catalog approve 3 --remote --env staging')).stderr).toMatch(
    /^Warning: plan-2: performance1 is 1300 .*\n\[staging\] Publication 3 will be published at once\. There is no terminal/,
  )
  expect((await ops('catalog approve 3 --json --remote --env staging')).stderr).toMatch(
    /^Publication 3 by amina: .*\n~ plan-2: performance1 .*\nPlans by country: .*\nWarning: plan-2: /,
  )
  await ops('plan set cash hint=New')
  expect((await ops('catalog approve 2')).stdout).toContain('Publication 2 is published, merged with later changes.')
  await ops('plan set plan-2 performance1=14')
  const { stderr } = await ops('catalog approve 3 --remote --env staging')
  expect(stderr).toContain(
    '[staging] Publication 3 will end as conflicted; catalog redo can make it again. There is no terminal',
  )
  const willConflict = 'others changed performance1 of plan-2'
  expect([await readJson('catalog show 3 --json'), ...(await readPending())]).toMatchObject([
    { id: 3, willConflict },
    { id: 3, willConflict },
  ])
  expect((await ops('catalog approve 3')).code).toBe(2)
  expect((await ops('catalog redo 3 --dry-run')).stdout).toContain('~ plan-2: performance1 14 → 1300\n')
  expect(await readJson('catalog show 3 --json')).toMatchObject({ state: 'conflicted' })
  expect((await readJson('catalog redo 3 --json')).publication).toMatchObject({ id: 6 })
  expect(await readJson('catalog show 3 --json')).toMatchObject({ decidedNote: 'Made again as publication 6.' })
})

test('a redo is made, also when another operator closes its case first', async () => {
  await ops('plan close cash --public-note Full. --at 2035-01-01T00:00Z')
  await bindings()
    .DB.prepare(`update publications set state = 'conflicted', conflict = 'x', decided_by = 'schedule' where id = 2`)
    .run()
  const { code, stdout, stderr } = await runAround('catalog redo 2 --json', 2, () => ops('catalog cancel 2 --as chidi'))
  expect(JSON.parse(stdout).publication).toMatchObject({ id: 3, state: 'scheduled' })
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Publication 2 can’t be cancelled: it is cancelled by chidi.\n' })
})

test('a redo to a later time says that the old publication may still be published when the database fails before its cancellation', async () => {
  await ops('plan close cash --public-note Full. --at 2035-01-01T00:00Z')
  const down = () => Promise.reject(new CloudflareError('Cloudflare answered 502.', { kind: 'unknown' }))
  const { code, stdout, stderr } = await runAround('catalog redo 2 --at 2036-01-01T00:00Z', 2, down)
  expect({ code, stdout }).toEqual({ code: 2, stdout: expect.stringContaining('Publication 3 is scheduled') })
  expect(stderr).toBe(
    'Cloudflare answered 502.\nIt is not known whether publication 2 is cancelled. If it is pending, it may still be published.\nTo cancel it when the database answers: npm run -s ops -- catalog cancel 2\n',
  )
})

test('a bug while a redo cancels the old publication is not taken for a failure of the database', async () => {
  await ops('plan close cash --public-note Full. --at 2035-01-01T00:00Z')
  const bug = () => Promise.reject(new TypeError('x is not a function'))
  expect(await runAround('catalog redo 2 --at 2036-01-01T00:00Z', 2, bug)).toMatchObject({ code: 1 })
})

/** Runs a command, and `act` before its change of publications with this number. */
async function runAround(words: string, number: number, act: () => Promise<unknown>) {
  let changes = 0
  const DB = interceptD1(bindings().DB, async (call, { sql }) => {
    if (/update "?publications/i.test(sql) && ++changes === number) await act()
    return call()
  })
  return runCommand(words.split(' '), { withStore: openStores(() => ({ ...bindings(), DB })) })
}

/** The time of a publication comes. */
async function runSchedule(id: number): Promise<void> {
  await bindings().DB.prepare(`update publications set due_at = 60 where id = ?`).bind(id).run()
  await publishDue(bindings().DB, undefined)
}

const dueAt = '2035-01-01T00:00:00Z'
const scheduleTenors = () =>
  importPlans(
    before.map((plan) => ({ ...plan, tenor: 'New' })),
    ` --at ${dueAt}`,
  )
const readTenors = async () => (await exportPlans()).map(({ tenor }: CatalogPlan) => tenor)
const readPending = () => readJson('log --pending --json')

test('a redo before its time leaves what a colleague fixed, and keeps the time unless --at names another', async () => {
  await scheduleTenors()
  await ops('plan set cash tenor=Fixed')
  expect((await ops('catalog redo 2 --except-changed')).stderr).toBe(
    'Note: The redo leaves out each plan with a later change of the same fields: tenor of cash.\n',
  )
  expect(await readPending()).toMatchObject([{ id: 4, planCount: 2, dueAt }])
  const later = '2036-01-01T00:00:00Z'
  await ops(`catalog redo 4 --at ${later}`)
  expect(await readPending()).toMatchObject([{ id: 5, dueAt: later }])
  await runSchedule(5)
  expect(await readTenors()).toEqual(['Fixed', 'New', 'New'])
  expect((await ops('catalog redo 5')).stderr).toContain('can’t be made again: it is published.')
})

test.each([
  ['is published', 1, '', 'published', 'Publication 2 was published meanwhile. So publication 3 is cancelled.\n'],
  ['is published', 2, '', 'published', 'Publication 2 was published meanwhile. So publication 3 is cancelled.\n'],
  [
    'conflicts',
    1,
    'tenor=Fixed',
    'cancelled',
    'Note: The redo leaves out each plan with a later change of the same fields: tenor of cash.\n',
  ],
  [
    'conflicts',
    2,
    'tenor=Fixed',
    'cancelled',
    'Note: The redo leaves out each plan with a later change of the same fields: tenor of cash.\n',
  ],
])(
  'a publication that %s while it is made again has its effect once: before change %i',
  async (_, number, fix, state, said) => {
    await scheduleTenors()
    if (fix) await ops(`plan set cash ${fix}`)
    const { stderr } = await runAround('catalog redo 2 --except-changed', number, () => runSchedule(2))
    expect({ stderr, state: (await readJson('catalog show 2 --json')).state }).toEqual({ stderr: said, state })
    const [made, ...others] = await readPending()
    expect({ id: made?.id, others }).toEqual({ id: fix ? 4 : undefined, others: [] })
    if (made) await runSchedule(made.id)
    expect(await readTenors()).toEqual([fix ? 'Fixed' : 'New', 'New', 'New'])
  },
)

test('an overdue publication is made again now, also when the schedule runs meanwhile', async () => {
  for (const number of [1, 2]) {
    const id = Number((await scheduleTenors()).stdout.match(/Publication (\d+)/)?.[1])
    await bindings().DB.prepare('update publications set due_at = 60 where id = ?').bind(id).run()
    const { code } = await runAround(`catalog redo ${id}`, number, () => runSchedule(id))
    // The schedule first: nothing is left to change.
    expect(code).toBe(0)
    expect(await readTenors()).toEqual(['New', 'New', 'New'])
    expect(await readPending()).toEqual([])
    await importPlans(before)
  }
})

test('a change that others overtake is shown again, merged, and asked for again; of the same field it is refused', async () => {
  const rename = () => ops('plan set cash hint=Theirs --as boris')
  const doubted = await runAround('plan set cash performance1=90', 1, () => ops('plan set cash hint=First'))
  expect(doubted.stderr.match(/Warning: cash: performance1 jumped/g)).toHaveLength(2)
  expect(await readJson(`catalog show ${doubted.stdout.match(/Publication (\d+) is/)?.[1]} --json`)).toMatchObject({
    warnings: [expect.stringContaining('jumped')],
  })
  const merged = await runAround('plan set cash tenor=Mine performance1=88', 1, rename)
  expect(merged).toMatchObject({ code: 0, stdout: expect.stringContaining(' is published. ') })
  expect(merged.stderr).toBe('Somebody else changed the catalog at the same time. The change to publish is now:\n')
  expect(merged.stdout.match(/^~ cash: /gm)).toHaveLength(2)
  expect((await exportPlans())[0]).toMatchObject({ hint: 'Theirs', tenor: 'Mine', performance1: 88 })
  const asked = await runAround('plan set cash about=Mine --json --remote --env staging', 1, async () => {
    await ops('plan set cash about=Later --at 2035-01-01T00:00Z')
    await ops('plan set cash sector=Theirs')
  })
  expect(asked.stderr).toMatch(
    /The change to publish is now:\n~ cash: about .*\nPlans by country: KE .*\nWarning: The pending .*\n\[staging\] There are /,
  )
  const refused = await runAround('plan set cash tenor=Again', 1, () => ops('plan set cash tenor=Theirs'))
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^The change can’t be published: others changed tenor of cash\.\n.*\nNothing was changed\.\n$/,
    ),
  })
  const scheduled = await runAround('plan set cash tenor=Later --at 2035-01-01T00:00Z', 1, () =>
    ops('plan set cash tenor=Now'),
  )
  expect(scheduled).toMatchObject({ code: 2, stderr: expect.stringContaining('others changed tenor of cash') })
  const same = await runAround('plan set cash tenor=Same', 1, () => ops('plan set cash tenor=Same'))
  expect(same).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\ncash already has these values\.\nNothing was changed\.\n$/),
  })
})

test.each([
  ['it', 'cash'],
  ['another plan', 'plan-2'],
])('an approver sees what will be published, again when others change %s meanwhile', async (_, plan) => {
  approval = 'required'
  await ops('plan set cash hint=Mine --as amina')
  approval = 'off'
  await ops('plan set cash tenor=Before')
  const { code, stdout, stderr } = await runAround('catalog approve 2', 1, () => ops(`plan set ${plan} name=Meanwhile`))
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'Somebody else changed the catalog at the same time. The change to publish is now:\n',
  })
  expect(stdout.match(/~ cash: hint/g)).toHaveLength(2)
  const plans = await exportPlans()
  expect(plans[0]).toMatchObject({ hint: 'Mine', tenor: 'Before' })
  expect(plans.find(({ identifier }: CatalogPlan) => identifier === plan)).toMatchObject({ name: 'Meanwhile' })
})

test('an approval says that it changed nothing when others had made the same change', async () => {
  approval = 'required'
  await ops('plan close cash --public-note Full. --as amina')
  approval = 'off'
  await ops('plan close cash --public-note Full.')
  const { stdout } = await ops('catalog approve 2')
  expect(stdout).toMatch(
    /Publication 2 is published, and changed nothing, because others had made the same change\.\n$/,
  )
  expect((await ops('catalog undo 2')).code).toBe(2)
})

test('--review writes the change into a spreadsheet, doubtful rows first, and the lists before and after', async () => {
  const folder = await useFolder()
  const file = join(folder, 'change.xlsx')
  const changed = before.map((plan, index) => ({
    ...plan,
    hint: 'New',
    ...(index === 1 && { performance1: 1300, viewableIn: [] }),
  }))
  const { stdout } = await importPlans(changed, ` --dry-run --review ${file}`)
  expect(stdout).toContain(`Wrote the change to ${file}.\n`)
  const { sheets } = await readXlsx(await readFile(file), { readStyles: true })
  const [changes, lists] = sheets
  expect(changes?.rows.slice(0, 4)).toEqual([
    ['plan', 'name', 'field', 'before', 'after', 'doubt'],
    ['plan-2', before[1]?.name, 'performance1', 13.1, 1300, expect.stringContaining('1300 % per year')],
    ['plan-2', before[1]?.name, 'viewableIn.KE', true, 'none', expect.stringContaining('in no country')],
    ['cash', before[0]?.name, 'hint', before[0]?.hint, 'New', ''],
  ])
  expect(changes?.cells?.get('1,0')?.style?.font?.color?.rgb).toMatch(/C00000$/)
  expect(changes?.cells?.get('3,0')?.style?.font?.color?.rgb ?? '').not.toMatch(/C00000$/)
  expect(changes?.freezePane).toMatchObject({ rows: 1 })
  expect(lists?.rows[0]).toEqual(['country', 'plans before', 'plans after', 'appear', 'disappear'])
  expect(lists?.rows.slice(1).map((row) => row[4])).toContain('plan-2')
  expect((await importPlans(changed, ` --dry-run --review ${file}`)).stderr).toContain('There is a file')
  expect((await ops('catalog show 1 --review x.pdf')).stderr).toContain('.xlsx')
})

test('doubts about a column make its changed cells red in the review', async () => {
  const file = join(await useFolder(), 'columns.xlsx')
  const changed = before.map((plan) => ({ ...plan, hint: 'New', performance1: 12.4 }))
  await importPlans(changed, ` --dry-run --review ${file}`)
  const rows = (await readXlsx(await readFile(file))).sheets[0]?.rows.slice(1, 4) ?? []
  expect(rows.map(([plan, , field]) => `${String(plan)} ${String(field)}`)).toEqual([
    'cash performance1',
    'plan-2 performance1',
    'plan-3 performance1',
  ])
  expect(rows[0]?.[5]).toContain('filled down the column')
})

test('an export has the format of its name and of the past, and import and update read it', async () => {
  const folder = await useFolder()
  await spreadTimes(bindings().DB)
  await ops('plan close cash --public-note Full.')
  await ops('catalog undo 2')
  const at = '--at 1970-01-01T00:16:40Z'
  expect(await exportPlans()).toEqual((await readJson(`catalog export ${at}`)).plans)
  const origin = await selectCatalogOrigin(openOperatorDatabase(bindings().DB))
  const { stdout } = await ops('catalog export')
  expect(stdout).toBe(formatCatalog(before, origin))
  for (const file of ['plans.json', 'plans.csv', 'plans.xlsx']) {
    await writeFile(join(folder, file), 'old')
    expect((await ops(`catalog export --output ${file}`)).code).toBe(2)
    expect(await readFile(join(folder, file), 'utf8')).toBe('old')
    expect(await ops(`catalog export --force --output ${file}`)).toEqual(printed(`Wrote 3 plans to ${file}.\n`))
    for (const verb of file.endsWith('json') ? ['import'] : ['import', 'update']) {
      expect(await readJson(`catalog ${verb} ${file} --dry-run --json`)).toMatchObject({ unchanged: 3, isMerged: true })
    }
  }
  await ops('catalog export --for figures --output figures.xlsx')
  expect(await readJson('catalog update figures.xlsx --json')).toMatchObject({ unchanged: 3, isMerged: true })
  await writeFile(join(folder, 'binary'), Uint8Array.of(0xff))
  expect((await ops('catalog import binary')).stderr).toMatch(/^The file is not UTF-8\. .*\nNothing was changed\.\n$/)
})

test('the summary names the sheet that was read, if the file has several', async () => {
  const makeSheet = (name: string, tenor: string) => ({
    name,
    rows: [
      ['identifier', 'tenor'],
      ['cash', tenor],
    ],
  })
  const november = makeSheet('November', '9 years')
  const update = async (...sheets: WriteSheet[]) => ops('catalog update -', { stdin: await writeXlsx({ sheets }) })
  const { stdout, stderr } = await update({ ...makeSheet('Plans', '1 year'), veryHidden: true }, november)
  expect(stderr).toContain('Note: These hidden sheets have plans, which were not read: "Plans".\n')
  expect(stdout).toContain('tenor "Open-ended" → "9 years"')
  expect(stdout).toContain('\nPlans: 0 added, 1 changed, 0 removed, 0 unchanged. Only the sheet "November" was read.\n')
  expect((await update(november)).stdout).toContain('Plans: 0 added, 0 changed, 0 removed, 1 unchanged.\n')
})

test('a deployed environment is never changed by nobody', async () => {
  const nobody = () => Promise.resolve(undefined)
  const { code, stderr } = await ops('plan open cash --remote --env staging', {}, nobody)
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.\nNothing was changed.\n',
  })
  await ops('plan close cash --public-note Full.', {}, nobody)
  expect((await readJson('log --json'))[0].actor).toBe('local')
  expect((await ops('plan open cash --as ')).stderr).toBe(
    'The actor must be 1 to 100 visible characters on one line, with no space at either end; it is "".\nNothing was changed.\n',
  )
})
