import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { formatCatalog } from '../../../src/catalog/catalog-file.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { selectCatalogOrigin } from '../../../src/db/catalog-queries.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { printed, refused, runCommand, type Terminal } from '../support/run-ops.ts'

const bindings = useMemoryBindings()
const about = 'Holds treasury bills. '.repeat(10)
const before = [
  makePlan({ id: 1, viewableIn: ['KE', 'UG'] }),
  makePlan({ id: 2, viewableIn: ['KE'] }),
  makePlan({ id: 3, viewableIn: ['KE', 'RW'], about }),
]

beforeAll(async () => {
  await publishPlans(openDatabase(bindings().DB), before)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const catalog = (args: string[], terminal: Terminal = {}) =>
  runCommand(
    ['catalog', ...args],
    { withStore: (target, work) => work(openBindingStore(bindings(), target)) },
    terminal,
  )
const importPlans = (plans: CatalogPlan[], args: string[] = [], terminal: Terminal = {}) =>
  catalog(['import', '-', ...args], { stdin: formatCatalog(plans), ...terminal })
const exportPlans = async (...args: string[]) => JSON.parse((await catalog(['export', ...args])).stdout).plans

test('catalog export prints a file with all plans, or the plans of a country', async () => {
  const origin = await selectCatalogOrigin(openDatabase(bindings().DB))
  expect(await catalog(['export'])).toEqual(printed(formatCatalog(before, { origin })))
  const { stdout } = await catalog(['export', '--country', 'RW'])
  expect(stdout).toBe(formatCatalog(before.slice(2), { origin, country: 'RW' }))
})

test('catalog import --dry-run prints what partners of each country would see, and changes nothing', async () => {
  const after = [
    makePlan({ id: 1, name: 'New', tenor: 'Five years', viewableIn: ['KE', 'TZ'] }),
    makePlan({ id: 3, viewableIn: ['KE', 'RW'], about: `${about}Pays monthly.` }),
    makePlan({ id: 4, viewableIn: [], performanceDate: new Date().toISOString().slice(0, 10) }),
  ]
  const change = [
    '  ~ plan-3',
    // A long text is shown from shortly before the first difference.
    '      about: "…lds treasury bills. " -> "…lds treasury bills. Pays monthly."',
  ]
  const doubts = [
    'Note: plan-4: The plan is viewable in no country.',
    'Warning: This takes back values of recent publications (1 by test) in 1 plan, such as plan-2. To keep them, export the catalog again and edit that.',
    'Warning: UG loses its last plan: its list will be empty.\n',
  ].join('\n')
  const shown = await importPlans(after, ['--dry-run', '--prune'])
  expect({ ...shown, stdout: shown.stdout.replace(/^(?: {6}.*\n)+(?=Would)/m, '') }).toEqual({
    code: 0,
    stdout: [
      'KE: 0 appear, 1 disappear, 2 change',
      '  - plan-2',
      '  ~ plan-1',
      '      name: "Mwamba Money Market Fund" -> "New"',
      '      tenor: "Open-ended" -> "Five years"',
      ...change,
      'RW: 0 appear, 0 disappear, 1 change',
      ...change,
      'TZ: 1 appear, 0 disappear, 0 change',
      '  + plan-1',
      'UG: 0 appear, 1 disappear, 0 change',
      '  - plan-1',
      'On the list of no country:',
      '  ~ plan-4',
      'New plans:',
      '  plan-4',
      'Would import 3 plans: 1 added, 2 changed, 0 unchanged, 1 removed.',
      '',
    ].join('\n'),
    stderr: doubts,
  })
  const { stdout, stderr } = await importPlans(after, ['--dry-run', '--prune', '--json'])
  expect(stderr).toBe(doubts)
  expect(JSON.parse(stdout)).toMatchObject({
    added: 1,
    changed: 2,
    removed: 1,
    unchanged: 0,
    countries: { UG: { appears: [], disappears: ['plan-1'], changes: [] } },
    unseen: [{ identifier: 'plan-4', fields: {} }],
    isMerged: false,
    publication: null,
  })
  expect(await exportPlans()).toEqual(before)
})

test('catalog import prints the numbers of plans', async () => {
  expect(await importPlans([before[0] ?? makePlan()])).toEqual(
    printed('Imported 1 plan: 0 added, 0 changed, 1 unchanged.\n'),
  )
})

test('catalog import prints one line for each defect, and changes nothing', async () => {
  const { code, stdout, stderr } = await importPlans([makePlan({ id: 1, name: '', currency: 'x' })])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^Plan "plan-1": name: .*\nPlan "plan-1": currency: .*\nNothing was imported\.\n$/)
  expect(await exportPlans()).toEqual(before)
})

test('catalog import prints 100,000 defects, those of the same kind in one line', async () => {
  const stdin = JSON.stringify({ plans: Array.from({ length: 3500 }, () => ({})) })
  const { code, stderr } = await catalog(['import', '-'], { stdin })
  expect([code, stderr.split('\n')]).toEqual([
    2,
    expect.arrayContaining([
      'name: expected text of 1 to 200 characters; found nothing. 3,500 plans, such as plan number 1.',
    ]),
  ])
  expect(stderr.split('\n').length).toBeLessThan(50)
})

test('catalog import asks before it changes or removes plans of a deployed environment', async () => {
  const remote = ['--remote', '--env', 'staging', '--prune']
  const losses = '1 plan will be changed. 2 plans will be removed.'
  const question = `[staging] ${losses} Are the warnings above intended?`
  const { code, stdout, stderr } = await importPlans([makePlan({ id: 1, name: 'New' })], remote)
  expect([code, stdout, stderr.split('\n').at(-2)]).toEqual([
    2,
    '',
    `${question} There is no terminal to ask: add --yes to go ahead. Nothing was changed.`,
  ])
  const answered = await importPlans([makePlan({ id: 1, name: 'New' })], remote, { isTTY: true })
  expect([answered.code, answered.stderr.endsWith(`${question} Go ahead? [y/N] Nothing was changed.\n`)]).toEqual([
    2,
    true,
  ])
  // The facts come before the question.
  const facts = ['Warning: 2 of 3 plans leave the catalog.', '  ~ plan-1', '      name: ', question]
  const places = facts.map((fact) => answered.stderr.indexOf(fact))
  expect(places).toEqual(places.toSorted((a, b) => a - b))
  expect(places).not.toContain(-1)
  expect(await exportPlans()).toEqual(before)
  // Plans that are only added are not asked about.
  expect((await importPlans(before, ['--remote', '--env', 'staging'])).code).toBe(0)
})

test('catalog import shows its progress, as a bar on a terminal and otherwise as one line per step', async () => {
  const added = makePlan({ id: 9, viewableIn: ['ZM'] })
  const { stderr } = await importPlans([added], [], { isTTY: true, patienceMs: 0 })
  expect(stderr).toMatch(
    /^\rReading the file \[\.{30}\] 0 %\u001b\[K.*\rWriting 1 plan \[#{15}\.{15}\] 50 %\u001b\[K\r\u001b\[K$/s,
  )
  const steps = (await importPlans(before, ['--prune'], { patienceMs: 0 })).stderr
  expect(steps).toMatch(
    /^Reading the file …\nChecking the plans …\nComparing with the catalog …\n.*Writing 1 plan …\n$/s,
  )
})

test('catalog import reads a file relative to the user’s folder, and names what is wrong with it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  await writeFile(join(folder, 'catalog.json'), `\ufeff${formatCatalog(before)}`)
  await writeFile(join(folder, 'binary'), Uint8Array.of(0xff))
  vi.stubEnv('INIT_CWD', folder)
  const results = [
    ['catalog.json', ''],
    [
      'nowhere.json',
      `Can't read "nowhere.json": no such file or directory. Name a catalog file, or - for standard input.\n`,
    ],
    ['.', `Can't read ".": illegal operation on a directory. Name a catalog file, or - for standard input.\n`],
    [
      'binary',
      'The file is not UTF-8. In a spreadsheet, save it as .xlsx, or as CSV with UTF-8.\nNothing was imported.\n',
    ],
  ] as const
  for (const [file, message] of results) {
    const { code, stderr } = await catalog(['import', file])
    expect([code, stderr]).toEqual([message === '' ? 0 : 2, message])
  }
  await rm(folder, { recursive: true })
})

test('catalog export --output writes a file in the format of its name, which import and update read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  vi.stubEnv('INIT_CWD', folder)
  for (const file of ['plans.json', 'plans.csv', 'plans.xlsx']) {
    await writeFile(join(folder, file), 'old')
    const total = before.length
    expect(await catalog(['export', '--output', file])).toEqual(printed(`Wrote ${total} plans to ${file}.\n`))
    for (const verb of ['import', 'update']) {
      const { stdout } = await catalog([verb, file, '--dry-run', '--json'])
      expect(JSON.parse(stdout)).toMatchObject({ added: 0, changed: 0, unchanged: total, isMerged: true })
    }
  }
  expect((await readdir(folder)).toSorted()).toEqual(['plans.csv', 'plans.json', 'plans.xlsx'])
  expect(await catalog(['export', '--output', 'nowhere/plans.csv'])).toEqual(
    refused(`Can't write "nowhere/plans.csv": no such file or directory.\n`),
  )
  await rm(folder, { recursive: true })
})

test('catalog update changes the fields of a file, also with decimal commas, and names defects by row', async () => {
  const update = (stdin: string, ...args: string[]) => catalog(['update', '-', ...args], { stdin })
  expect(await update('identifier;performance1\nplan-1;12,5', '--dry-run', '--decimal-comma')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /      performance1: 13\.1 -> 12\.5\nWould import 1 plan: 0 added, 1 changed, 0 unchanged\.\n$/,
    ),
    stderr: 'Warning: the last line has no end. Was the file cut?\n',
  })
  expect(await update('identifier;performance1\nplan-1;12,5\nplan-8;1')).toEqual(
    refused(
      [
        'Row 2, column performance1: expected a number in percent per year, or null; found "12,5".',
        'Row 3, column identifier: expected the identifier of a plan in the catalog; found "plan-8". To add a plan, use catalog import.',
        'If the commas are decimal commas, add --decimal-comma.',
        'Nothing was imported.',
        '',
      ].join('\n'),
    ),
  )
  expect((await update('identifier;minTopUpAmounts.KES\nplan-1;1,000\nplan-2;1,000,000')).stderr).toContain(
    '\nThe commas look like those between thousands: format these columns without them.\nNothing was imported.\n',
  )
  expect(await update('identifier,performance1,viewableIn\nplan-1,1,KE\nplan-2,1')).toEqual(
    refused('Row 3: expected a cell for each of 3 columns; found 2. Was the file cut?\nNothing was imported.\n'),
  )
  expect(await update('')).toEqual(refused('The file is empty.\nNothing was imported.\n'))
  expect(await update('identifier,performance1\nplan-1,12.5\n')).toMatchObject({
    stdout: expect.stringMatching(/^Imported 1 plan: .*\nPublished as/),
    stderr: '',
  })
  expect((await exportPlans())[0]).toEqual({ ...before[0], performance1: 12.5 })
  await importPlans(before)
  expect(await exportPlans()).toEqual(before)
})

test('catalog invalidate raises the revision, and changes nothing else', async () => {
  const readRevision = async () => (await selectCatalogOrigin(openDatabase(bindings().DB))).revision
  const [revision, exported] = [await readRevision(), await exportPlans()]
  expect(await catalog(['invalidate'])).toEqual(
    printed('Every cached plan list is invalid. Requests read the database within 2 minutes.\n'),
  )
  const next = await readRevision()
  expect(next).toBeGreaterThan(revision)
  const { stdout } = await catalog(['invalidate', '--json'])
  expect(JSON.parse(stdout)).toEqual({ revision: await readRevision() })
  expect(await readRevision()).toBeGreaterThan(next)
  expect(await exportPlans()).toEqual(exported)
})
