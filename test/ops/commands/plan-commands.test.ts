import { beforeAll, expect, test } from 'vitest'
import { listMatchingFilters } from '../../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { createPartner, changePartner } from '../../../src/ops/core/partner-accounts.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { editRecords } from '../support/test-database.ts'
import { printed, readTable, refused, runCommand } from '../support/run-ops.ts'

const bindings = useMemoryBindings()
const openStore = (target = {}) => openBindingStore(bindings(), target)

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['RW'], category: null, name: 'two\nlines' })
const hidden = makePlan({ id: 3, identifier: 'hidden', viewableIn: [] })
const closed = makePlan({ id: 4, identifier: 'closed', isInvestable: false, nonInvestableNote: 'Sold out.' })
const changing = makePlan({ id: 5, identifier: 'changing', viewableIn: ['TZ'] })

beforeAll(async () => {
  const store = openStore()
  const put = [cash, gold, hidden, closed, changing]
  await publishPlans(store.read, put)
  const attribution = { actor: 'amina@example.com', command: 'test', note: null }
  for (const shortName of ['acme', 'paused']) {
    await createPartner(store, { shortName, name: shortName, country: 'KE' }, attribution)
  }
  await changePartner(store, { kind: 'suspend', partner: 'paused' }, { attribution, warn: () => {} })
  await bindings().DB.prepare('update partners set suspended_at = 0 where suspended_at is not null').run()
  await editRecords(
    bindings().DB,
    'update change_record set changed_at = 0',
    'update publication_entries set made_at = 0',
  )
})

const plan = (...args: string[]) =>
  runCommand(['plan', ...args], { withStore: (target, work) => work(openStore(target)) })
const readJson = async (...args: string[]): Promise<unknown> => JSON.parse((await plan(...args, '--json')).stdout)

test('plan list prints a table, an array, or a note that there is none', async () => {
  const { stdout } = await plan('list')
  expect(readTable(stdout).slice(0, 3)).toEqual([
    ['IDENTIFIER', 'FUND TYPE', 'CURRENCY', 'INVESTABLE', 'VIEWABLE IN'],
    ['cash', cash.fundType, cash.currency, 'yes', 'KE UG'],
    ['gold', gold.fundType, gold.currency, 'yes', 'RW'],
  ])
  expect(await readJson('list', '--country', 'RW')).toEqual([
    {
      id: 2,
      identifier: 'gold',
      name: 'two\nlines',
      fundType: gold.fundType,
      currency: gold.currency,
      categoryId: null,
      isInvestable: true,
      viewableIn: ['RW'],
    },
  ])
  expect(await plan('list', '--country', 'ZM')).toEqual({
    code: 0,
    stdout: '',
    stderr: `No plan is viewable in ZM. To see all plans, and where they are viewable: ${command} plan list\n`,
  })
})

test('plan show prints every field, each on one line', async () => {
  expect(await readJson('show', 'cash')).toEqual(cash)
  const { stdout } = await plan('show', 'gold')
  expect(stdout).toContain('two lines')
  for (const name of Object.keys(gold)) expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'))
})

test('plan offer, withdraw, close and open print the plan as it is now', async () => {
  const sentences = [
    [
      ['offer', 'changing', '--country', 'KE', '--country', 'RW'],
      'changing is viewable in KE, RW, TZ, and open to investment.\n',
    ],
    [
      ['withdraw', 'changing', '--country', 'KE', '--country', 'RW'],
      'changing is viewable in TZ, and open to investment.\n',
    ],
    [['close', 'changing', '--note', 'Sold out.\nFor now.'], 'changing is viewable in TZ, and closed to investment.\n'],
    [['open', 'changing'], 'changing is viewable in TZ, and open to investment.\n'],
    [['withdraw', 'changing', '--country', 'TZ'], 'changing is viewable nowhere, and open to investment.\n'],
  ] as const
  let id = 1
  for (const [args, sentence] of sentences) {
    const undo = `Published as publication ${++id}. To take it back: npm run -s ops -- catalog undo ${id}\n`
    const { code, stdout } = await plan(...args)
    expect([code, stdout]).toEqual([0, `${sentence}${undo}`])
  }
  expect((await plan('open', 'changing')).stdout).toBe('changing is still viewable nowhere, and open to investment.\n')
  expect(await plan('withdraw', 'gold', '--country', 'KE', '--country', 'UG')).toEqual({
    code: 0,
    stdout: 'gold is still viewable in RW, and open to investment.\n',
    stderr: 'gold was not viewable in KE, UG.\n',
  })
  const publication = { id: id + 1, state: 'published', dueAt: null, overlaps: [] }
  expect(await readJson('offer', 'changing', '--country', 'TZ')).toEqual({ plan: changing, publication })
})

test('plan set prints the difference, and how to take it back', async () => {
  const { code, stdout, stderr } = await plan('set', 'changing', 'performance1=12.4', 'category.displayName=Save daily')
  expect([code, stderr, stdout]).toEqual([
    0,
    '',
    expect.stringMatching(
      /^TZ: 0 appear, 0 disappear, 1 change\n  ~ changing\n      performance1: 13\.1 -> 12\.4\nPublished as publication (\d+)\. To take it back: npm run -s ops -- catalog undo \1\n$/,
    ),
  ])
  expect((await plan('set', 'changing', 'performance1=12.4')).stdout).toBe('changing has these values already.\n')
  expect(await readJson('set', 'changing', 'performance1=13.1')).toMatchObject({ plan: changing })
})

test.each([
  [
    ['set', 'cash', 'performance1=1,5'],
    'performance1: expected a number in percent per year, or null; found "1,5".\nNothing was changed.',
  ],
  [
    ['set', 'cash', 'viewableIn='],
    'viewableIn: expected a value after the equals sign, or null for no value; found nothing.\nNothing was changed.',
  ],
  [
    ['offer', 'cash', '--country', 'ke'],
    'The country must be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".',
  ],
  [
    ['withdraw', 'cash'],
    "Required option '--country <code>' not specified. See: npm run -s ops -- plan withdraw --help",
  ],
  [['close', 'cash'], 'A closed plan needs a reason for partners: add --note "Sold out."'],
  [['why', 'cash'], "Required option '--partner <short-name>' not specified. See: npm run -s ops -- plan why --help"],
  [['show', 'x', '--persist-to', '/a b'], `There is no plan "x". See: npm run -s ops -- plan list --persist-to '/a b'`],
])('plan %j is a mistake', async (args, stderr) => {
  expect(await plan(...args)).toEqual(refused(`${stderr}\n`))
})

const filters = (seen: CatalogPlan) => listMatchingFilters(seen).join(', ')
const command = 'npm run -s ops --'

test.each([
  [
    'acme',
    'cash',
    `acme sees cash: it is viewable in KE, without a filter or with any of ${filters(cash)}. To take it off the list: ${command} plan withdraw cash --country KE`,
  ],
  [
    'acme',
    'closed',
    `acme sees closed: it is viewable in KE, without a filter or with any of ${filters(closed)}. It is closed to investment, which does not affect the list. To take it off the list: ${command} plan withdraw closed --country KE`,
  ],
  [
    'acme',
    'gold',
    `acme does not see gold: it lists the plans of KE, and the plan is not viewable there, only in RW. To put it on the list: ${command} plan offer gold --country KE`,
  ],
  [
    'acme',
    'hidden',
    `acme does not see hidden: it lists the plans of KE, and the plan is not viewable anywhere. To put it on the list: ${command} plan offer hidden --country KE`,
  ],
  [
    'acme',
    'nothing',
    `acme does not see "nothing": there is no plan with this identifier or ID. Is it mistyped? To see all plans: ${command} plan list; to add it: ${command} catalog import FILE`,
  ],
  [
    'paused',
    'cash',
    `paused sees no plan: it is suspended since 1970-01-01T00:00:00Z, by amina@example.com. To see its record: ${command} partner log paused; to end the suspension: ${command} partner resume paused`,
  ],
])('plan why tells in one line why %s sees %s or not, with the command that changes it', async (partner, id, line) => {
  expect(await plan('why', id, '--partner', partner)).toEqual(printed(`${line}\n`))
})

test('plan why prints an object for scripts, with commands on the same target', async () => {
  expect(await readJson('why', 'gold', '--partner', 'acme', '--persist-to', '/tmp/x')).toEqual({
    isSeen: false,
    reason: 'not_viewable',
    sentence: 'acme does not see gold: it lists the plans of KE, and the plan is not viewable there, only in RW.',
    fix: `To put it on the list: ${command} plan offer gold --country KE --persist-to /tmp/x`,
    settledAt: null,
    pending: [],
  })
  expect(await readJson('why', 'cash', '--partner', 'acme')).toMatchObject({ isSeen: true, reason: 'viewable' })
})

test('plan why says what changes later', async () => {
  const year = new Date().getUTCFullYear() + 1
  const { id } = JSON.parse(
    (await plan('close', 'cash', '--note', 'Full.', '--at', `${year}-12-01T06:00Z`, '--json')).stdout,
  ).publication
  const added = makePlan({ id: 6, identifier: 'added', viewableIn: ['KE'], performanceDate: '2026-10-30' })
  await runCommand(
    ['catalog', 'import', '-', '--at', `${year}-12-01T06:00Z`],
    { withStore: (target, work) => work(openStore(target)) },
    { stdin: JSON.stringify({ plans: [added] }) },
  )
  expect((await plan('why', 'added', '--partner', 'acme')).stdout).toContain(
    `\nFrom ${year}-12-01T06:00:00Z, it is on the list of KE (publication ${id + 1}).\n`,
  )
  expect((await plan('why', 'cash', '--partner', 'acme')).stdout).toMatch(
    new RegExp(`\\nFrom ${year}-12-01T06:00:00Z, it is closed to investment \\(publication ${id}\\)\\.\\n$`),
  )
})
