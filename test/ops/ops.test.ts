import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { formatCatalog } from '../../src/catalog/catalog-file.ts'
import type { CatalogPlan } from '../../src/catalog/plan.ts'
import { withLocalStore } from '../../src/ops/local-store.ts'
import { runOps } from '../../src/ops/run.ts'
import { arbitraryCatalog, makePlan } from '../support/plan.ts'

let state: string

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'catalog-'))
  await promisify(execFile)('npm', ['run', '-s', 'migrate', '--', '--local', '--persist-to', state])
})
afterAll(() => rm(state, { recursive: true }))

const emptyDatabase = () =>
  withLocalStore({ persistTo: state }, async ({ d1 }) => {
    const tables = ['partner_secrets', 'partners', 'plan_viewability', 'plan_minimums', 'plans']
    await d1.batch(tables.map((table) => d1.prepare(`delete from ${table}`)))
  })

async function ops(args: string[], stdin = '') {
  let [stdout, stderr] = ['', '']
  const code = await runOps(args, {
    stdin: (async function* () {
      yield stdin
    })(),
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  })
  return { code, stdout, stderr }
}
const onState = (...args: string[]) => ops([...args, '--persist-to', state])
const create = (shortName: string, ...rest: string[]) =>
  onState('partner', 'create', '--short-name', shortName, '--name', 'Acme "Wallet"', '--country', 'KE', ...rest)
const importPlans = (...plans: CatalogPlan[]) =>
  ops(['catalog', 'import', '-', '--persist-to', state], formatCatalog(plans))
const exportPlans = async (...args: string[]) => (await onState('catalog', 'export', ...args)).stdout

describe('partner create', () => {
  beforeEach(emptyDatabase)

  test('prints the credentials this once, and stores only a hash', async () => {
    const { code, stdout, stderr } = await create('acme')
    expect([code, stderr]).toEqual([0, 'The secret is shown this once: only its hash is stored.\n'])
    const [, row = ''] = stdout.split('\n')
    expect(row).toMatch(/^acme +KE +\w{16} {2}\w{40}$/)
    await withLocalStore({ persistTo: state }, async ({ d1 }) => {
      const { results } = await d1
        .prepare('select * from partners join partner_secrets on partner_id = partners.id')
        .all()
      expect(results).toMatchObject([
        { short_name: 'acme', name: 'Acme "Wallet"', country: 'KE', suspended_at: null, expires_at: null },
      ])
      expect(results[0]?.['hash']).toMatch(/^\$pbkdf2-sha256\$i=100000\$/)
      expect(JSON.stringify(results)).not.toContain(row.slice(-40))
    })
  })

  test('prints an object for scripts, and nothing else', async () => {
    const { code, stdout, stderr } = await create('acme', '--json')
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      clientId: expect.stringMatching(/^\w{16}$/),
      clientSecret: expect.stringMatching(/^\w{40}$/),
      shortName: 'acme',
      country: 'KE',
    })
  })

  test('names everything that is wrong, a line each', async () => {
    const args = ['partner', 'create', '--short-name', 'Acme/', '--name', ' ', '--country', 'ke']
    expect(await ops(args)).toEqual({
      code: 2,
      stdout: '',
      stderr: [
        '--short-name has to be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is "Acme/".',
        '--name has to be 1 to 200 visible characters on one line; it is " ".',
        '--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".\n',
      ].join('\n'),
    })
  })

  test.each([
    ['--short-name', 'a'],
    ['--short-name', 'acme-'],
    ['--short-name', 'a'.repeat(33)],
    ['--name', 'a'.repeat(201)],
    ['--name', 'red\u001b[31m'],
    ['--name', 'two\nlines'],
    ['--country', 'ke'],
    ['--country', 'XX'],
  ])('does not take %s %j', async (flag, value) => {
    const { code, stdout, stderr } = await create('acme', flag, value)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(new RegExp(`^${flag} has to be .*\\n$`))
    expect(stderr).not.toContain('\u001b')
  })

  test('does not take a short name twice', async () => {
    await create('acme')
    const stderr = 'The short name acme is taken. Choose another, or see: npm run -s ops -- partner list\n'
    expect(await create('acme')).toEqual({ code: 2, stdout: '', stderr })
    expect(JSON.parse((await onState('partner', 'list', '--json')).stdout)).toHaveLength(1)
  })
})

test('partner list shows who is there, and no secret', async () => {
  await emptyDatabase()
  expect(await onState('partner', 'list')).toEqual({ code: 0, stdout: '', stderr: 'There is no partner yet.\n' })
  const credentials = JSON.parse((await create('zeta', '--json')).stdout) as { clientId: string }
  await create('acme')
  const { stdout } = await onState('partner', 'list')
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['SHORT NAME', 'acme', 'zeta', ''])
  const [, zeta] = JSON.parse((await onState('partner', 'list', '--json')).stdout) as object[]
  expect(zeta).toEqual({
    shortName: 'zeta',
    name: 'Acme "Wallet"',
    country: 'KE',
    clientId: credentials.clientId,
    status: 'active',
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
})

describe('catalog import', () => {
  beforeEach(emptyDatabase)

  test('then export gives back any catalog unchanged', async () => {
    const [catalog = []] = fc.sample(arbitraryCatalog, 20).toSorted((a, b) => b.length - a.length)
    expect(await importPlans(...catalog)).toMatchObject({ code: 0, stderr: '' })
    const ugandan = catalog.filter(({ viewableIn }) => viewableIn.includes('UG'))
    expect(JSON.parse(await exportPlans())).toEqual({ plans: catalog })
    expect(JSON.parse(await exportPlans('--country', 'UG'))).toEqual({ plans: ugandan })
  })

  test('replaces plans of the same ID in every field, and leaves the others', async () => {
    const { stdout } = await importPlans(makePlan({ id: 1 }), makePlan({ id: 2 }))
    expect(stdout).toBe('Imported 2 plans: 2 added, 0 replaced.\n')
    const replacement = makePlan({ id: 2, name: 'New', minTopUpAmounts: {}, viewableIn: [], category: null })
    const replaced = await ops(
      ['catalog', 'import', '-', '--json', '--persist-to', state],
      formatCatalog([replacement, makePlan({ id: 3 })]),
    )
    expect(JSON.parse(replaced.stdout)).toEqual({ added: 1, replaced: 1 })
    expect(await exportPlans()).toBe(formatCatalog([makePlan({ id: 1 }), replacement, makePlan({ id: 3 })]))
  })

  test('takes a file of 10,000 plans', async () => {
    const plans = Array.from({ length: 10_000 }, (_, id) => makePlan({ id, about: 'é'.repeat(900) }))
    const file = join(state, 'large.json')
    await writeFile(file, formatCatalog(plans))
    expect(await onState('catalog', 'import', file)).toMatchObject({ code: 0, stderr: '' })
    // Not toBe: a difference of 30 MB is nothing to print.
    expect((await exportPlans()) === formatCatalog(plans)).toBe(true)
  })

  test('names every defect and writes nothing', async () => {
    await importPlans(makePlan({ id: 1 }))
    const result = await importPlans(makePlan({ id: 1, name: 'New' }), makePlan({ id: 2, name: '', currency: 'x' }))
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
    await importPlans(makePlan({ id: 1, identifier: 'one' }), makePlan({ id: 2, identifier: 'two' }))
    const result = await importPlans(makePlan({ id: 1, identifier: 'three' }), makePlan({ id: 4, identifier: 'two' }))
    expect(result).toMatchObject({
      code: 2,
      stderr: [
        'Plan "three": id: 1 is plan "one" in the catalog.',
        'Plan "two": identifier: another plan has it, too.',
        'Nothing was imported.\n',
      ].join('\n'),
    })
  })

  test('changes no plan that the file lacks', async () => {
    const renamed = { id: 5, name: 'High' }
    await importPlans(makePlan({ id: 1 }), makePlan({ id: 2 }))
    expect(await importPlans(makePlan({ id: 1, productRiskLevel: renamed }))).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'Plan "plan-1": productRiskLevel: id 5 stands for something else in plan "plan-2".\nNothing was imported.\n',
    })
    const plans = [makePlan({ id: 1, productRiskLevel: renamed }), makePlan({ id: 2, productRiskLevel: renamed })]
    expect(await importPlans(...plans)).toMatchObject({ code: 0 })
    expect(await exportPlans()).toBe(formatCatalog(plans))
  })

  test('deletes the plan lists that KV holds of the countries it touches, and nothing else', async () => {
    await importPlans(makePlan({ viewableIn: ['RW'] }))
    const names = (kv: KVNamespace) => kv.list().then(({ keys }) => keys.map(({ name }) => name))
    await withLocalStore({ persistTo: state }, async ({ kv }) => {
      const keys = ['partner:v1:x', 'plans:v1:KE:', 'plans:v1:RW:currency=USD', 'plans:v1:TZ:']
      for (const key of keys) await kv.put(key, 'old')
    })
    await importPlans(makePlan({ viewableIn: ['KE'] }))
    expect(await withLocalStore({ persistTo: state }, ({ kv }) => names(kv))).toEqual(['partner:v1:x', 'plans:v1:TZ:'])
  })

  test('takes a byte order mark, and a path from where the user is', async () => {
    await writeFile(join(state, 'bom.json'), `\ufeff${formatCatalog([makePlan()])}`)
    vi.stubEnv('INIT_CWD', state)
    expect(await onState('catalog', 'import', 'bom.json')).toMatchObject({
      code: 0,
      stdout: 'Imported 1 plan: 1 added, 0 replaced.\n',
    })
    vi.unstubAllEnvs()
  })

  test('names tens of thousands of defects', async () => {
    const { code, stderr } = await ops(
      ['catalog', 'import', '-', '--persist-to', state],
      JSON.stringify({ plans: Array.from({ length: 5000 }, () => ({})) }),
    )
    expect([code, stderr.split('\n').length > 100_000]).toEqual([2, true])
  })
})

test.each([
  [
    'that is not there',
    'nowhere.json',
    "Can't read nowhere.json (ENOENT). Name a catalog file, or - for standard input.",
  ],
  ['that is a folder', 'src', "Can't read src (EISDIR). Name a catalog file, or - for standard input."],
  ['that is no text', 'node_modules/.bin/workerd', 'The file is not UTF-8.\nNothing was imported.'],
])('catalog import refuses a file %s', async (_, file, stderr) => {
  expect(await onState('catalog', 'import', file)).toEqual({ code: 2, stdout: '', stderr: `${stderr}\n` })
})

describe('a mistake on the command line is one line on stderr and exit code 2', () => {
  test.each([
    [['partner', 'list', '--jsn'], "error: unknown option '--jsn' (Did you mean --json?)\n"],
    [['partner', 'lst'], "error: unknown command 'lst' (Did you mean list?)\n"],
    [['catalog', 'import'], "error: missing required argument 'file'\n"],
    [
      ['catalog', 'export', '--country', 'ke'],
      '--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".\n',
    ],
    [
      ['partner', 'list', '--persist-to', '/nowhere'],
      'There is no local database in /nowhere. Make one: npm run -s migrate -- --local --persist-to /nowhere\n',
    ],
  ])('%j', async (args, stderr) => {
    expect(await ops(args)).toEqual({ code: 2, stdout: '', stderr })
  })

  test.each([
    [
      'is not migrated',
      (folder: string) => mkdir(join(folder, 'v3/d1'), { recursive: true }),
      /^The local database in .* is not migrated\. Run: npm run -s migrate -- --local --persist-to .*\n$/,
    ],
    [
      'can’t be opened',
      (folder: string) =>
        mkdir(join(folder, 'v3/d1'), { recursive: true }).then(() => writeFile(join(folder, 'v3/kv'), '')),
      /^The local state in .* is damaged or can't be opened\. .*\n$/,
    ],
  ])('also where the database %s', async (_, prepare, stderr) => {
    const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
    await prepare(folder)
    expect(await ops(['partner', 'list', '--persist-to', folder])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(stderr),
    })
    await rm(folder, { recursive: true })
  })
})

test('a bug is exit code 1, and says so', async () => {
  const stdout = {
    write: () => {
      throw new Error('unexpected')
    },
  }
  let stderr = ''
  const io = { stdin: process.stdin, stdout, stderr: { write: (text: string) => (stderr += text) } }
  expect(await runOps(['partner', 'list', '--json', '--persist-to', state], io)).toBe(1)
  expect(stderr).toMatch(/^A bug: Error: unexpected\n/)
})

test.each(['', 'partner', 'partner create', 'partner list', 'catalog import', 'catalog export'])(
  'help is no mistake: ops %s --help',
  async (command) => {
    const words = command.split(' ').filter(Boolean)
    const { code, stdout, stderr } = await ops([...words, '--help'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(words.length === 2 ? /^Usage: ops .*Example:\n {2}npm run -s ops -- /s : /^Usage: ops /)
  },
)
