import { beforeEach, describe, expect, test } from 'vitest'
import { listMatchingFilters } from '../../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  createPartner,
  emptyDatabase,
  importPlans,
  keysLeftAfter,
  onState,
  readJson,
  useLocalState,
} from '../support/run-ops.ts'
import { makePlan } from '../../support/make-plan.ts'

useLocalState()

const cash = makePlan({ id: 1, identifier: 'cash', viewableIn: ['KE', 'UG'] })
const gold = makePlan({ id: 2, identifier: 'gold', viewableIn: ['RW'], category: null, name: 'two\nlines' })

beforeEach(async () => {
  await emptyDatabase()
  await importPlans([cash, gold])
})

const show = (id: string) => readJson<CatalogPlan>('plan', 'show', id)

test('plan list shows all plans, or those of a country', async () => {
  const { stdout } = await onState('plan', 'list')
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
    ['IDENTIFIER', 'FUND TYPE'],
    ['cash', cash.fundType],
    ['gold', gold.fundType],
    [''],
  ])
  expect(await readJson('plan', 'list', '--country', 'RW')).toEqual([
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
  expect(await onState('plan', 'list', '--country', 'TZ')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'There is no such plan.\n',
  })
})

test('plan show gives every field', async () => {
  expect(await show('cash')).toEqual(cash)
  expect(await show('1')).toEqual(cash)
  const { stdout } = await onState('plan', 'show', 'gold')
  expect(stdout).toContain('two lines')
  for (const name of Object.keys(gold)) expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'))
})

test('plan view puts a plan on the list of a country and takes it off, and twice is no mistake', async () => {
  const keys = ['plans:v1:KE:', 'plans:v1:KE:currency=KES', 'plans:v1:UG:']
  const left = await keysLeftAfter(keys, async () => {
    const { stdout } = await onState('plan', 'view', 'cash', '--country', 'KE', '--off')
    expect(stdout).toBe('cash is viewable in UG, and open to investment.\n')
  })
  expect([left, (await show('cash')).viewableIn]).toEqual([['plans:v1:UG:'], ['UG']])
  for (const _ of [1, 2]) await onState('plan', 'view', 'cash', '--country', 'KE')
  expect(await show('cash')).toEqual(cash)
  for (const country of ['KE', 'UG', 'UG']) await onState('plan', 'view', 'cash', '--country', country, '--off')
  expect((await onState('plan', 'view', 'cash', '--country', 'TZ', '--off')).stdout).toBe(
    'cash is viewable nowhere, and open to investment.\n',
  )
})

test('plan close takes a note, plan open takes it away, and the lists of both are told', async () => {
  const note = 'Fully subscribed until “March”.'
  const keys = ['plans:v1:KE:', 'plans:v1:RW:', 'plans:v1:UG:']
  const left = await keysLeftAfter(keys, async () => {
    const { stdout } = await onState('plan', 'close', 'cash', '--note', note)
    expect(stdout).toBe('cash is viewable in KE, UG, and closed to investment.\n')
  })
  expect(left).toEqual(['plans:v1:RW:'])
  expect(await show('cash')).toEqual({ ...cash, isInvestable: false, nonInvestableNote: note })
  expect(await keysLeftAfter(keys, () => onState('plan', 'open', 'cash'))).toEqual(['plans:v1:RW:'])
  expect(await show('cash')).toEqual(cash)
})

test.each([
  [['view', 'cash'], '--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "".'],
  [['close', 'cash'], '--note has to be text of 1 to 2000 characters; it is nothing.'],
  [['close', 'cash', '--note', ' '], '--note has to be text of 1 to 2000 characters; it is " ".'],
  [['why', 'cash'], "Required option '--partner <short-name>' not specified. See: npm run -s ops -- --help"],
])('plan %j is a mistake', async (args, stderr) => {
  expect(await onState('plan', ...args)).toEqual({ code: 2, stdout: '', stderr: `${stderr}\n` })
  expect(await show('cash')).toEqual(cash)
})

test.each([['show'], ['view', '--country', 'KE'], ['close', '--note', 'x'], ['open']])(
  'plan %s of a plan that is not there is a mistake',
  async (verb, ...rest) => {
    const { code, stdout, stderr } = await onState('plan', verb, 'nothing', ...rest)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^There is no plan "nothing"\. See: npm run -s ops -- plan list --persist-to .*\n$/)
  },
)

describe('plan why answers in one line, with the command that would change it', () => {
  const why = async (id: string) =>
    (await onState('plan', 'why', id, '--partner', 'acme')).stdout.replaceAll(/ --persist-to [^\s;]+/g, '')

  beforeEach(() => createPartner('acme'))

  test('viewable, and by which filters', async () => {
    expect(await why('cash')).toBe(
      `acme sees cash: it is viewable in KE, without a filter or with any of ${listMatchingFilters(cash).join(', ')}. To take it off the list: npm run -s ops -- plan view cash --country KE --off\n`,
    )
    await onState('plan', 'close', 'cash', '--note', 'x')
    expect(await why('cash')).toContain(' Its being closed to investment does not matter to that. ')
  })

  test('not viewable in its country', async () => {
    expect(await why('gold')).toBe(
      'acme does not see gold: it lists the plans of KE, and the plan is not viewable there, only in RW. To put it on the list: npm run -s ops -- plan view gold --country KE\n',
    )
    await onState('plan', 'view', 'gold', '--country', 'RW', '--off')
    expect(await why('gold')).toContain('the plan is not viewable anywhere. ')
  })

  test('no such plan', async () => {
    expect(await why('nothing')).toBe(
      'acme does not see "nothing": there is no such plan. To see what there is: npm run -s ops -- plan list; to add it: npm run -s ops -- catalog import FILE\n',
    )
  })

  test('a suspended partner', async () => {
    await onState('partner', 'suspend', 'acme')
    expect(await why('cash')).toMatch(
      /^acme sees no plan: it is suspended since \S+Z\. To resume it: npm run -s ops -- partner resume acme\n$/,
    )
  })

  test('as an object for scripts', async () => {
    const answer = await readJson<object>('plan', 'why', 'gold', '--partner', 'acme')
    expect(answer).toMatchObject({ isSeen: false, reason: 'not_viewable' })
    expect(Object.keys(answer)).toEqual(['isSeen', 'reason', 'sentence', 'mend'])
  })

  test('and not for nobody', async () => {
    const { code, stderr } = await onState('plan', 'why', 'gold', '--partner', 'nobody')
    expect([code, stderr.split('.')[0]]).toEqual([2, 'There is no partner "nobody"'])
  })
})
