import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { formatCatalog } from '../../src/catalog/catalog-file.ts'
import type { CatalogPlan } from '../../src/catalog/plan.ts'
import {
  emptyDatabase,
  importPlans,
  keysLeftAfter,
  onState,
  ops,
  state,
  useLocalState,
  bindings,
} from '../support/ops.ts'
import { arbitraryCatalog, makePlan } from '../support/plan.ts'

useLocalState()
beforeEach(emptyDatabase)

const exportPlans = async (...args: string[]) => (await onState('catalog', 'export', ...args)).stdout

test('a dry run shows long texts from where they differ', async () => {
  const about = 'Holds treasury bills. '.repeat(10)
  await importPlans([makePlan({ about })])
  const { stdout } = await importPlans([makePlan({ about: `${about}Pays monthly.` })], '--dry-run')
  expect(stdout).toContain('about: "…lds treasury bills. " -> "…lds treasury bills. Pays monthly."\n')
})

describe('catalog import', () => {
  test('then export gives back any catalog unchanged', async () => {
    const [catalog = []] = fc.sample(arbitraryCatalog, 20).toSorted((a, b) => b.length - a.length)
    expect(await importPlans(catalog)).toMatchObject({ code: 0, stderr: '' })
    const ugandan = catalog.filter(({ viewableIn }) => viewableIn.includes('UG'))
    expect(JSON.parse(await exportPlans())).toEqual({ plans: catalog })
    expect(JSON.parse(await exportPlans('--country', 'UG'))).toEqual({ plans: ugandan })
  })

  test('replaces plans of the same ID in every field, and leaves the others', async () => {
    const { stdout } = await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })])
    expect(stdout).toBe('Imported 2 plans: 2 added, 0 changed, 0 unchanged.\n')
    const replacement = makePlan({ id: 2, name: 'New', minTopUpAmounts: {}, viewableIn: [], category: null })
    const { stdout: json } = await importPlans([replacement, makePlan({ id: 3 })], '--json')
    expect(JSON.parse(json)).toMatchObject({ added: 1, changed: 1, removed: 0, unchanged: 0 })
    expect(await exportPlans()).toBe(formatCatalog([makePlan({ id: 1 }), replacement, makePlan({ id: 3 })]))
  })

  test('takes a file of 10,000 plans', async () => {
    const plans = Array.from({ length: 10_000 }, (_, id) => makePlan({ id, about: 'é'.repeat(900) }))
    const file = join(state, 'large.json')
    await writeFile(file, formatCatalog(plans))
    expect(await onState('catalog', 'import', file)).toMatchObject({ code: 0 })
    // Not toBe: a difference of 30 MB is nothing to print.
    expect((await exportPlans()) === formatCatalog(plans)).toBe(true)
  })

  test('names every defect and writes nothing', async () => {
    await importPlans([makePlan({ id: 1 })])
    const result = await importPlans([makePlan({ id: 1, name: 'New' }), makePlan({ id: 2, name: '', currency: 'x' })])
    expect(result).toEqual({
      code: 2,
      stdout: '',
      stderr: [
        'Plan "plan-2": name: expected text of 1 to 200 characters; found "".',
        'Plan "plan-2": currency: expected an ISO 4217 currency code in upper case, such as "KES"; found "x".',
        'Nothing was imported.\n',
      ].join('\n'),
    })
    expect(await exportPlans()).toBe(formatCatalog([makePlan({ id: 1 })]))
  })

  test('keeps the identifier of a plan with its ID', async () => {
    await importPlans([makePlan({ id: 1, identifier: 'one' }), makePlan({ id: 2, identifier: 'two' })])
    const result = await importPlans([makePlan({ id: 1, identifier: 'three' }), makePlan({ id: 4, identifier: 'two' })])
    expect(result).toMatchObject({
      code: 2,
      stderr: [
        'Plan "three": id: 1 is plan "one" in the catalog.',
        'Plan "two": id: it is 2 in the catalog; found 4.',
        'Nothing was imported.\n',
      ].join('\n'),
    })
  })

  test('changes no plan that the file lacks', async () => {
    const renamed = { id: 5, name: 'High' }
    await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 })])
    expect(await importPlans([makePlan({ id: 1, productRiskLevel: renamed })])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'Plan "plan-1": productRiskLevel: id 5 stands for something else in plan "plan-2".\nNothing was imported.\n',
    })
    const plans = [makePlan({ id: 1, productRiskLevel: renamed }), makePlan({ id: 2, productRiskLevel: renamed })]
    expect(await importPlans(plans)).toMatchObject({ code: 0 })
    expect(await exportPlans()).toBe(formatCatalog(plans))
  })

  test('deletes the plan lists that KV holds of the countries it touches, and nothing else', async () => {
    await importPlans([makePlan({ viewableIn: ['RW'] })])
    const left = await keysLeftAfter(['partner:v1:x', 'plans:v1:KE:', 'plans:v1:RW:currency=USD', 'plans:v1:TZ:'], () =>
      importPlans([makePlan({ viewableIn: ['KE'] })]),
    )
    expect(left).toEqual(['partner:v1:x', 'plans:v1:TZ:'])
  })

  test('of what is there already changes nothing, in whatever order it is written', async () => {
    const amounts = { KES: 1, UGX: 2 }
    await importPlans([makePlan({ minTopUpAmounts: amounts, viewableIn: ['KE', 'UG'] })])
    const again = makePlan({ minTopUpAmounts: { UGX: 2, KES: 1 }, viewableIn: ['UG', 'KE'] })
    const left = await keysLeftAfter(['plans:v1:KE:'], async () => {
      expect((await importPlans([again])).stdout).toBe('Imported 1 plan: 0 added, 0 changed, 1 unchanged.\n')
    })
    expect(left).toEqual(['plans:v1:KE:'])
  })

  test('with --prune removes what the file lacks', async () => {
    await importPlans([makePlan({ id: 1 }), makePlan({ id: 2 }), makePlan({ id: 3, viewableIn: ['UG'] })])
    const left = await keysLeftAfter(['plans:v1:KE:', 'plans:v1:RW:', 'plans:v1:UG:'], async () => {
      const { stdout } = await importPlans([makePlan({ id: 2 }), makePlan({ id: 4, viewableIn: [] })], '--prune')
      expect(stdout).toBe('Imported 2 plans: 1 added, 0 changed, 1 unchanged, 2 removed.\n')
    })
    expect(left).toEqual(['plans:v1:RW:'])
    expect(await exportPlans()).toBe(formatCatalog([makePlan({ id: 2 }), makePlan({ id: 4, viewableIn: [] })]))
  })

  test('with --prune lets shared objects change that only removed plans refer to', async () => {
    await importPlans([makePlan({ id: 1 })])
    const renamed = makePlan({ id: 2, productRiskLevel: { id: 5, name: 'High' } })
    expect(await importPlans([renamed], '--prune')).toMatchObject({ code: 0 })
    expect(await exportPlans()).toBe(formatCatalog([renamed]))
  })

  test('with --dry-run shows what partners of each country will see, and changes nothing', async () => {
    const before = [
      makePlan({ id: 1, viewableIn: ['KE', 'UG'] }),
      makePlan({ id: 2, viewableIn: ['KE'] }),
      makePlan({ id: 3, viewableIn: ['KE', 'RW'] }),
    ]
    await importPlans(before)
    const after = [
      makePlan({ id: 1, name: 'New', tenor: 'Five years', viewableIn: ['KE', 'TZ'] }),
      makePlan({ id: 3, viewableIn: ['KE', 'RW'] }),
      makePlan({ id: 4, viewableIn: [] }),
    ]
    const left = await keysLeftAfter(['plans:v1:KE:'], async () => {
      const { stdout } = await importPlans(after, '--dry-run', '--prune')
      expect(stdout).toBe(
        [
          'KE: 0 appear, 1 disappear, 1 change',
          '  - plan-2',
          '  ~ plan-1',
          '      name: "Mwamba Money Market Fund" -> "New"',
          `      tenor: ${JSON.stringify(before[0]?.tenor)} -> "Five years"`,
          'TZ: 1 appear, 0 disappear, 0 change',
          '  + plan-1',
          'UG: 0 appear, 1 disappear, 0 change',
          '  - plan-1',
          'On the list of no country:',
          '  plan-4',
          'Would import 3 plans: 1 added, 1 changed, 1 unchanged, 1 removed.',
          '',
        ].join('\n'),
      )
      const { countries } = JSON.parse((await importPlans(after, '--dry-run', '--prune', '--json')).stdout) as {
        countries: Record<string, object>
      }
      expect(Object.keys(countries)).toEqual(['KE', 'TZ', 'UG'])
      expect(countries['UG']).toEqual({ appears: [], disappears: ['plan-1'], changes: [] })
      const fields = {
        name: { from: 'Mwamba Money Market Fund', to: 'New' },
        tenor: { from: before[0]?.tenor, to: 'Five years' },
      }
      const changes = [{ identifier: 'plan-1', fields }]
      expect(countries['KE']).toEqual({ appears: [], disappears: ['plan-2'], changes })
    })
    expect(left).toEqual(['plans:v1:KE:'])
    expect(await exportPlans()).toBe(formatCatalog(before))
  })

  describe('during which the catalog changes', () => {
    const refusal = 'The catalog was changed by somebody else meanwhile. Try again.\nNothing was imported.\n'
    const plan = makePlan({ id: 1, viewableIn: ['KE'] })

    test.each([
      ['by another import', () => importPlans([makePlan({ id: 2 })])],
      ['by one plan’s viewability', () => onState('plan', 'view', 'plan-1', '--country', 'UG')],
      ['by one plan’s note', () => onState('plan', 'close', 'plan-1', '--note', 'Sold out.')],
    ])('%s is refused, and leaves nothing behind', async (_, meanwhile) => {
      await importPlans([plan])
      const file = { stdin: formatCatalog([{ ...plan, name: 'New' }]) }
      const words = ['catalog', 'import', '-', '--persist-to', state]
      expect(await ops(words, { ...file, beforeFirstWrite: meanwhile })).toEqual({
        code: 2,
        stdout: '',
        stderr: refusal,
      })
      const { plans } = JSON.parse(await exportPlans()) as { plans: CatalogPlan[] }
      expect(plans[0]?.name).toBe(plan.name)
      const { results } = await bindings().DB.prepare('select * from catalog_staging').all()
      expect(results).toEqual([])
    })

    test('a change of one plan is refused, too', async () => {
      await importPlans([plan])
      const view = ['plan', 'view', 'plan-1', '--country', 'UG', '--persist-to', state]
      const stderr = 'The catalog was changed by somebody else meanwhile. Try again.\n'
      const removal = () => importPlans([makePlan({ id: 2 })], '--prune')
      expect(await ops(view, { beforeFirstWrite: removal })).toEqual({ code: 2, stdout: '', stderr })
    })
  })

  test('shows how far it is on a terminal, and takes that away again', async () => {
    const file = { stdin: formatCatalog([makePlan()]) }
    const words = ['catalog', 'import', '-', '--persist-to', state]
    const { stderr } = await ops(words, { ...file, isTTY: true, patienceMs: 0 })
    expect(stderr).toMatch(
      /^\rChecking the plans \[\.{30}\] 0 %\u001b\[K.*\rWriting 1 plan \[#{26}\.{4}\] 87 %\u001b\[K\r\u001b\[K$/s,
    )
    expect((await ops(words, { ...file, patienceMs: 0 })).stderr).toMatch(
      /^Checking the plans …\nReading the catalog …\n$/,
    )
  })

  test('takes a byte order mark, and a path from where the user is', async () => {
    await writeFile(join(state, 'bom.json'), `\ufeff${formatCatalog([makePlan()])}`)
    vi.stubEnv('INIT_CWD', state)
    expect(await onState('catalog', 'import', 'bom.json')).toMatchObject({
      code: 0,
      stdout: 'Imported 1 plan: 1 added, 0 changed, 0 unchanged.\n',
    })
    vi.unstubAllEnvs()
  })

  test('names tens of thousands of defects', async () => {
    const stdin = JSON.stringify({ plans: Array.from({ length: 5000 }, () => ({})) })
    const { code, stderr } = await ops(['catalog', 'import', '-', '--persist-to', state], { stdin })
    expect([code, stderr.split('\n').length > 100_000]).toEqual([2, true])
  })
})

test.each([
  [
    'that is not there',
    'nowhere.json',
    'Can\'t read "nowhere.json": it does not exist. Name a catalog file, or - for standard input.',
  ],
  ['that is a folder', 'src', 'Can\'t read "src": it is a folder. Name a catalog file, or - for standard input.'],
  [
    'that is no text',
    'node_modules/@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2',
    'The file is not UTF-8.\nNothing was imported.',
  ],
])('catalog import refuses a file %s', async (_, file, stderr) => {
  expect(await onState('catalog', 'import', file)).toEqual({ code: 2, stdout: '', stderr: `${stderr}\n` })
})

test('catalog purge deletes the plan lists of a country, or all of them', async () => {
  const keys = ['partner:v1:x', 'plans:v1:KE:', 'plans:v1:KE:currency=USD', 'plans:v1:UG:']
  const left = await keysLeftAfter(keys, async () => {
    const { stdout } = await onState('catalog', 'purge', '--country', 'KE')
    expect(stdout).toBe('The cached plan lists of KE are deleted.\n')
  })
  expect(left).toEqual(['partner:v1:x', 'plans:v1:UG:'])
  expect(await keysLeftAfter(keys, () => onState('catalog', 'purge'))).toEqual(['partner:v1:x'])
})
