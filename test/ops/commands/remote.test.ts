// --remote, against a loopback server that speaks the calls of Cloudflare's API that it takes. In a folder of its own,
// whose wrangler.toml has the IDs that an operator would write there.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { getPlatformProxy, type PlatformProxy } from 'wrangler'
import { readKidTimeMs } from '../../../src/crypto/signing-keys.ts'
import { formatCatalog } from '../../../src/catalog/catalog-file.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import {
  account,
  apiToken,
  databaseId,
  namespaceId,
  startFakeCloudflare,
  type FakeCloudflare,
} from '../support/fake-cloudflare.ts'
import { ops } from '../support/run-ops.ts'
import { makePlan } from '../../support/make-plan.ts'

const project = resolve(import.meta.dirname, '../../..')
let folder: string
let proxy: PlatformProxy<Env>
let cloudflare: FakeCloudflare

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  const config = await readFile(join(project, 'wrangler.toml'), 'utf8')
  const withIds = config
    .replace(/^# (database_id = ").*(partner-investment-plan-catalog-staging")$/m, `$1${databaseId}"`)
    .replace(/^# (id = ").*(partner-investment-plan-catalog-staging")$/m, `$1${namespaceId}"`)
  await writeFile(join(folder, 'wrangler.toml'), withIds)
  await cp(join(project, 'package.json'), join(folder, 'package.json'))
  for (const name of ['migrations', 'node_modules', 'src']) await symlink(join(project, name), join(folder, name))
  process.chdir(folder)
  proxy = await getPlatformProxy<Env>({ persist: false, remoteBindings: false })
  cloudflare = await startFakeCloudflare(proxy.env)
})
afterAll(async () => {
  process.chdir(project)
  await cloudflare.close()
  await proxy.dispose()
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  cloudflare.calls.length = 0
  vi.stubEnv('CLOUDFLARE_API_BASE_URL', cloudflare.url)
  vi.stubEnv('CLOUDFLARE_API_TOKEN', apiToken)
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', account)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const remote = (...args: string[]) => ops([...args, '--remote', '--env', 'staging'])
const importRemote = (plans: CatalogPlan[], ...args: string[]) =>
  ops(['catalog', 'import', '-', '--remote', '--env', 'staging', ...args], { stdin: formatCatalog(plans) })

test('a database that is not migrated is named with its mend, which mends it', async () => {
  const mend = 'npm run -s migrate -- --remote --env staging'
  const stderr = `The database of [env.staging] is not migrated. Run: ${mend}\n`
  expect(await remote('partner', 'list')).toEqual({ code: 2, stdout: '', stderr })
  await promisify(execFile)('sh', ['-c', mend])
  expect(await remote('partner', 'list')).toEqual({ code: 0, stdout: '', stderr: 'There is no partner yet.\n' })
})

test('a catalog goes up in one transaction and comes back unchanged', async () => {
  const plans = [makePlan({ id: 1, viewableIn: ['KE', 'UG'] }), makePlan({ id: 2, performance1: -0.25 })]
  expect(await importRemote(plans)).toEqual({
    code: 0,
    stdout: 'Imported 2 plans: 2 added, 0 changed, 0 unchanged.\n',
    stderr: '',
  })
  const writes = cloudflare.calls.filter((call) => call.endsWith('/query'))
  // Seven tables are staged, and committed at once.
  expect(writes).toHaveLength(8)
  expect((await remote('catalog', 'export')).stdout).toBe(formatCatalog(plans))
})

test('a change deletes the lists that it outdates, page by page', async () => {
  const kv = proxy.env.CATALOG_CACHE
  const names = ['plans:v1:KE:', 'plans:v1:KE:currency=KES', 'plans:v1:KE:currency=USD', 'plans:v1:UG:']
  for (const name of names) await kv.put(name, 'old')
  expect((await remote('plan', 'view', 'plan-2', '--country', 'KE', '--off')).stdout).toBe(
    'plan-2 is viewable nowhere, and open to investment.\n',
  )
  expect((await kv.list()).keys.map(({ name }) => name)).toEqual(['plans:v1:UG:'])
})

test('a change that the cache can’t be told is made, and says so', async () => {
  cloudflare.failure = { call: /\/keys$/, status: 500, message: 'KV is down' }
  const { code, stderr } = await remote('plan', 'close', 'plan-1', '--note', 'Sold out.')
  expect([code, stderr]).toEqual([
    0,
    'The cache could not be told: Cloudflare answered 500: KV is down. A change is seen within two minutes all the same.\n',
  ])
  const plan = JSON.parse((await remote('plan', 'show', 'plan-1', '--json')).stdout) as CatalogPlan
  expect(plan.nonInvestableNote).toBe('Sold out.')
})

test('a partner’s life', async () => {
  const created = await remote('partner', 'create', '--short-name', 'acme', '--name', 'Acme', '--country', 'KE')
  expect(created.stdout).toMatch(/\nacme +KE +\w{16} {2}\w{40}\n$/)
  expect((await remote('partner', 'rotate', 'acme', '--yes')).code).toBe(0)
  expect((await remote('partner', 'rotate', 'acme', '--yes')).stderr).toMatch(
    /^acme has two live secrets: .*--grace 0 --remote --env staging\n$/,
  )
  await remote('partner', 'suspend', 'acme')
  await remote('partner', 'resume', 'acme')
  await remote('partner', 'set-country', 'acme', 'UG')
  const { stdout } = await remote('partner', 'show', 'acme', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ country: 'UG', status: 'active', secrets: [{}, { expiresAt: null }] })
  expect((await remote('plan', 'why', 'plan-1', '--partner', 'acme')).stdout).toMatch(
    /^acme sees plan-1: .* plan view plan-1 --country UG --off --remote --env staging\n$/,
  )
})

describe('what can’t be undone is asked for', () => {
  const replacement = [makePlan({ id: 1, name: 'New' })]
  const question = '[staging] 1 plan will be changed.'

  test('and refused where nobody can be asked', async () => {
    expect(await importRemote(replacement)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${question} Nobody can be asked here: add --yes to go ahead. Nothing was changed.\n`,
    })
  })

  test.each(['n', '', 'yesterday'])('and left alone when the answer is %j', async (stdin) => {
    const rotate = ['partner', 'rotate', 'acme', '--grace', '0', '--remote', '--env', 'staging']
    expect(await ops(rotate, { stdin, isTTY: true })).toEqual({
      code: 2,
      stdout: '',
      stderr:
        '[staging] acme gets a new secret; all before stop working at once. Go ahead? [y/N] Nothing was changed.\n',
    })
  })

  test('and done when the answer is yes, or is given before', async () => {
    const rotate = ['partner', 'rotate', 'acme', '--grace', '0', '--remote', '--env', 'staging']
    expect((await ops(rotate, { stdin: 'y\n', isTTY: true })).code).toBe(0)
    expect((await importRemote(replacement, '--yes')).code).toBe(0)
    expect((await importRemote(replacement)).stdout).toBe('Imported 1 plan: 0 added, 0 changed, 1 unchanged.\n')
  })
})

describe('signing keys', () => {
  interface ShownKey {
    kid: string
    use: string
    createdAt: string
  }
  const rotate = (...args: string[]) => remote('keys', 'rotate', '--json', '--wait', '0', ...args)
  const kidsIn = (name: string) => {
    const { keys } = JSON.parse(cloudflare.secrets?.get(name) ?? '{"keys":[]}') as { keys: { kid: string }[] }
    return keys.map(({ kid }) => kid)
  }

  test('the first makes the Worker’s secrets, before there is a Worker', async () => {
    const { code, stdout } = await rotate()
    expect(code).toBe(0)
    const keys = JSON.parse(stdout) as ShownKey[]
    const [kid = ''] = keys.map((key) => key.kid)
    expect(keys).toEqual([{ kid, use: 'signs', createdAt: expect.any(String) as string }])
    expect(Math.abs((readKidTimeMs(kid) ?? 0) - Date.now())).toBeLessThan(60_000)
    expect([...(cloudflare.secrets?.keys() ?? [])].toSorted()).toEqual(['JWT_KEYS', `JWT_KEYS_${kid}`])
    expect(kidsIn('JWT_KEYS')).toEqual([kid])
    expect(kidsIn(`JWT_KEYS_${kid}`)).toEqual([kid])
  })

  test('the next verifies everywhere before it signs, and the one before goes on verifying', async () => {
    const [before = ''] = kidsIn('JWT_KEYS')
    const changes: { atMs: number; signing: string | undefined }[] = []
    cloudflare.onCall = async (call) => {
      if (call.startsWith('PATCH')) changes.push({ atMs: performance.now(), signing: kidsIn('JWT_KEYS')[0] })
    }
    const { stdout } = await remote('keys', 'rotate', '--json', '--wait', '2')
    cloudflare.onCall = undefined
    const [now = ''] = kidsIn('JWT_KEYS')
    // When the second change comes, the key before still signs.
    expect(changes.map(({ signing }) => signing)).toEqual([before, before])
    expect((changes[1]?.atMs ?? 0) - (changes[0]?.atMs ?? 0)).toBeGreaterThan(2000)
    expect((JSON.parse(stdout) as ShownKey[]).map(({ kid, use }) => `${kid} ${use}`)).toEqual([
      `${now} signs`,
      `${before} verifies`,
    ])
    expect([...(cloudflare.secrets?.keys() ?? [])].toSorted()).toEqual(
      ['JWT_KEYS', `JWT_KEYS_${before}`, `JWT_KEYS_${now}`].toSorted(),
    )
  })

  test('of two rotations at once the later takes over, and the earlier is refused', async () => {
    let later: Promise<unknown> | undefined
    cloudflare.onCall = async (call) => {
      if (!call.startsWith('PATCH') || later) return
      later = Promise.resolve()
      // Once this call is answered, and before the key of it signs.
      later = new Promise((done) => setTimeout(() => done(rotate()), 300))
    }
    const { code, stderr } = await remote('keys', 'rotate', '--wait', '9')
    cloudflare.onCall = undefined
    await later
    expect([code, stderr]).toEqual([
      2,
      'Somebody else rotated meanwhile. See: npm run -s ops -- keys list --remote --env staging\n',
    ])
    const [signs] = JSON.parse((await remote('keys', 'list', '--json')).stdout) as ShownKey[]
    expect(kidsIn('JWT_KEYS')).toEqual([signs?.kid])
  })

  test('a set that somebody else put beside is listed, and stands in nobody’s way', async () => {
    cloudflare.secrets?.set('JWT_KEYS_OLD', '{"keys":[]}')
    const keys = JSON.parse((await rotate()).stdout) as ShownKey[]
    expect(keys.map(({ use }) => use)[0]).toBe('signs')
    expect(keys.find(({ kid }) => kid === 'OLD')).toEqual({ kid: 'OLD', use: 'verifies', createdAt: null })
    expect((await remote('keys', 'drop', 'OLD')).stderr).toMatch(
      /^\[staging\] The key OLD will be deleted\. .* add --yes/,
    )
    expect((await remote('keys', 'drop', 'OLD', '--yes')).code).toBe(0)
  })

  test('what Cloudflare refuses is one line', async () => {
    cloudflare.failure = { call: /\/secrets$/, status: 400, message: 'no such account' }
    const { code, stderr } = await remote('keys', 'list')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^Cloudflare answered 400: no such account\.\n$/)
  })

  test('a rotation that was interrupted shows, and the next one clears up after it', async () => {
    const waiting = '20200101T000000Z_00000000'
    cloudflare.secrets?.set(`JWT_KEYS_NEXT_${waiting}`, '{"keys":[]}')
    const { stdout } = await remote('keys', 'list')
    expect(stdout).toMatch(new RegExp(`\n${waiting} +waits +\\d+ d\n$`))
    await rotate()
    expect([...(cloudflare.secrets?.keys() ?? [])].filter((name) => name.includes('NEXT'))).toEqual([])
  })

  test('a key is dropped when it no longer signs', async () => {
    const [signing = ''] = kidsIn('JWT_KEYS')
    const { stderr } = await remote('keys', 'drop', signing, '--yes')
    expect(stderr).toBe(
      `The key ${signing} signs. Rotate first: npm run -s ops -- keys rotate --remote --env staging\n`,
    )
    const keys = JSON.parse((await remote('keys', 'list', '--json')).stdout) as ShownKey[]
    for (const { kid } of keys.slice(1)) expect((await remote('keys', 'drop', kid, '--yes')).code).toBe(0)
    expect([...(cloudflare.secrets?.keys() ?? [])].toSorted()).toEqual(['JWT_KEYS', `JWT_KEYS_${signing}`])
  })

  test('keys that were set by other means are replaced only when somebody says so', async () => {
    cloudflare.secrets = new Map([['JWT_KEYS', '{"keys":[]}']])
    const { code, stderr } = await rotate()
    expect([code, stderr.split(' Nobody')[0]]).toEqual([
      2,
      '[staging] JWT_KEYS was not set by this command and can’t be read back: tokens signed so far will be refused.',
    ])
    expect((await rotate('--yes')).code).toBe(0)
  })
})

describe('a mistake is one line that names the mend', () => {
  test.each([
    ['CLOUDFLARE_API_TOKEN', '', /^CLOUDFLARE_API_TOKEN is not set\. .*\n$/],
    [
      'CLOUDFLARE_API_TOKEN',
      'two\nlines',
      /^CLOUDFLARE_API_TOKEN holds what no token has: copy it again, on one line\.\n$/,
    ],
    ['CLOUDFLARE_API_TOKEN', '…', /^CLOUDFLARE_API_TOKEN holds what no token has: .*\n$/],
    ['CLOUDFLARE_ACCOUNT_ID', '', /^CLOUDFLARE_ACCOUNT_ID is not set\. .*\n$/],
    ['CLOUDFLARE_ACCOUNT_ID', '../x', /^CLOUDFLARE_ACCOUNT_ID has to be 32 hexadecimal digits\.\n$/],
    ['CLOUDFLARE_API_BASE_URL', 'nowhere', /^CLOUDFLARE_API_BASE_URL is no URL\.\n$/],
    ['CLOUDFLARE_API_BASE_URL', 'http://127.0.0.1:59999', /^Can't reach 127\.0\.0\.1:59999: ECONNREFUSED\.\n$/],
    ['CLOUDFLARE_API_TOKEN', 'wrong', /^Cloudflare refuses the token \(403\): Authentication error\. Check .*\n$/],
  ])('%s=%j', async (name, value, stderr) => {
    vi.stubEnv(name, value)
    const expected = { code: 2, stdout: '', stderr: expect.stringMatching(stderr) as string }
    expect(await remote('partner', 'list')).toEqual(expected)
  })

  test.each([
    [['--remote', '--env', 'prodution'], 'wrangler.toml has no environment "prodution". It has: staging, production.'],
    [['--env', 'staging'], '--env names a deployed environment: add --remote.'],
    [['--remote'], '--remote needs an environment of wrangler.toml: add --env, such as --env staging.'],
    [
      ['--remote', '--env', 'production'],
      'wrangler.toml lacks the database_id of DB and the id of CATALOG_CACHE in [env.production]: write it there.',
    ],
    [
      ['--remote', '--env', 'staging', '--persist-to', 'x'],
      "Option '--persist-to <dir>' cannot be used with option '--remote'. See: npm run -s ops -- --help",
    ],
  ])('a wrong target: %j', async (target, stderr) => {
    expect(await ops(['partner', 'list', ...target])).toEqual({ code: 2, stdout: '', stderr: `${stderr}\n` })
  })

  test('a read that failed is no change', async () => {
    cloudflare.failure = { call: /\/raw$/, status: 503, message: 'overloaded' }
    expect((await remote('partner', 'list')).stderr).toBe('Cloudflare answered 503: overloaded.\n')
  })

  test('a change that may have been made is said to be in doubt', async () => {
    cloudflare.failure = { call: /\/query$/, status: 503, message: 'overloaded' }
    const { code, stderr } = await remote('plan', 'view', 'plan-1', '--country', 'TZ')
    expect([code, stderr]).toEqual([
      2,
      'Cloudflare answered 503: overloaded. Whether the change was made is not known: look before you try again, and rotate a secret that you did not get to see.\n',
    ])
  })
})

describe('when the answer to a change gets lost', () => {
  const lost = { call: /\/query$/, status: 502, message: 'lost', hasEffect: true }

  test('a secret that is stored is shown', async () => {
    cloudflare.failure = lost
    const args = ['--short-name', 'lost', '--name', 'Lost', '--country', 'KE', '--json']
    expect(JSON.parse((await remote('partner', 'create', ...args)).stdout)).toMatchObject({ shortName: 'lost' })
  })

  test('the cache is told all the same', async () => {
    const { clientId } = JSON.parse((await remote('partner', 'show', 'lost', '--json')).stdout) as { clientId: string }
    await proxy.env.CATALOG_CACHE.put(`partner:v1:${clientId}`, 'old')
    cloudflare.failure = lost
    expect((await remote('partner', 'suspend', 'lost')).code).toBe(2)
    expect(await proxy.env.CATALOG_CACHE.get(`partner:v1:${clientId}`)).toBeNull()
  })
})
