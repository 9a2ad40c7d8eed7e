import { expect, test } from 'vitest'
import { provision, type SigningKey } from '../../../src/ops/core/provisioning.ts'
import type { EnvironmentResources } from '../../../src/ops/store/environment-resources.ts'

/** An account with nothing in it. What a step needs is changed before it fails: `failing` is the number of changes until then. */
function openAccount(failing = Infinity) {
  const account = {
    databases: new Map<string, string>(),
    namespaces: new Map<string, string>(),
    hasSubdomain: true,
    jurisdiction: undefined as string | undefined,
    isReplicated: false,
    pending: ['0001.sql', '0002.sql'],
    key: 'none' as 'none' | 'rotated' | 'foreign',
    saved: new Map<string, string>(),
    changes: [] as string[],
    failing,
  }
  const change = (name: string, effect: () => void) => {
    effect()
    account.changes.push(name)
    if (account.changes.length === account.failing) return Promise.reject(new Error('interrupted'))
    return Promise.resolve()
  }
  const list = (kind: 'databases' | 'namespaces') => ({
    exists: (id: string) => Promise.resolve([...account[kind].values()].includes(id)),
    findByName: (name: string) => Promise.resolve(account[kind].get(name)),
    saveId: (id: string) => change(`save ${id}`, () => account.saved.set(kind, id)),
  })
  const resources = (): EnvironmentResources & SigningKey => ({
    names: { env: 'staging', database: 'catalog-staging', namespace: 'catalog-staging' },
    ids: { database: account.saved.get('databases'), namespace: account.saved.get('namespaces') },
    database: {
      ...list('databases'),
      create: async (name, { location, jurisdiction }) => {
        account.jurisdiction = jurisdiction
        await change(`database in ${jurisdiction ?? location}`, () => account.databases.set(name, 'd-1'))
        return 'd-1'
      },
      readJurisdiction: () => Promise.resolve(account.jurisdiction),
    },
    namespace: {
      ...list('namespaces'),
      create: async (name) => {
        await change('namespace', () => account.namespaces.set(name, 'n-1'))
        return 'n-1'
      },
    },
    lacksSubdomain: () => Promise.resolve(!account.hasSubdomain),
    readReplication: () => Promise.resolve(account.isReplicated),
    switchReplicationOn: () => change('replication', () => (account.isReplicated = true)),
    listPendingMigrations: () => Promise.resolve(account.pending),
    migrate: () => change('migrate', () => (account.pending = [])),
    findSigningKey: () => Promise.resolve(account.key),
    createSigningKey: () => change('key', () => (account.key = 'rotated')),
  })
  return { account, resources }
}

const weur = { location: 'weur', jurisdiction: undefined }
const everyChange = ['database in weur', 'save d-1', 'namespace', 'save n-1', 'replication', 'migrate', 'key']

test('an empty account gets everything, and the second run changes nothing', async () => {
  const { account, resources } = openAccount()
  const lines: string[] = []
  expect(await provision(resources(), weur, (line) => lines.push(line))).toBe(true)
  expect(account.changes).toEqual(everyChange)
  expect(lines).toEqual([
    'Created the database catalog-staging, and wrote its ID into wrangler.toml.',
    'Created the KV namespace catalog-staging, and wrote its ID into wrangler.toml.',
    'Switched read replication on.',
    'Applied 2 migrations.',
    'Created a signing key.',
  ])

  lines.length = 0
  expect(await provision(resources(), weur, (line) => lines.push(line))).toBe(false)
  expect(account.changes).toEqual(everyChange)
  expect(lines).toEqual([
    'The database d-1 is there.',
    'The KV namespace n-1 is there.',
    'Read replication is on.',
    'Every migration is applied.',
    'There is a signing key.',
  ])
})

test.each(everyChange.map((name, index) => [name, index + 1] as const))(
  'a run that ended after the change "%s" is continued by the next one, which creates nothing twice',
  async (_, count) => {
    const { account, resources } = openAccount(count)
    await expect(provision(resources(), weur, () => {})).rejects.toThrow('interrupted')
    await provision(resources(), weur, () => {})
    expect(account.changes).toEqual(everyChange)
  },
)

test('a JWT_KEYS that was set by other means is left alone', async () => {
  const { account, resources } = openAccount()
  account.key = 'foreign'
  const lines: string[] = []
  await provision(resources(), weur, (line) => lines.push(line))
  expect(account.changes).not.toContain('key')
  expect(lines.at(-1)).toBe(
    'JWT_KEYS was set by other means, and stays as it is. To replace it, run: npm run -s ops -- keys rotate --remote --env staging',
  )
})

test.each<[string, (account: ReturnType<typeof openAccount>['account']) => unknown]>([
  [
    'The account has no database d-2, which wrangler.toml names in [env.staging]. Check CLOUDFLARE_ACCOUNT_ID; to create another database, delete the line of database_id first.',
    ({ saved }) => saved.set('databases', 'd-2'),
  ],
  [
    'The account has no subdomain of workers.dev, where the service gets its first address. Register one at https://dash.cloudflare.com/?to=/:account/workers/onboarding, and run it again.',
    (account) => (account.hasSubdomain = false),
  ],
])('nothing is created: %s', async (message, prepare) => {
  const { account, resources } = openAccount()
  prepare(account)
  await expect(provision(resources(), weur, () => {})).rejects.toThrow(message)
  expect(account.changes).toEqual([])
})

test('a database is created in a jurisdiction, and one that is elsewhere is refused', async () => {
  const { account, resources } = openAccount()
  await provision(resources(), { ...weur, jurisdiction: 'eu' }, () => {})
  expect(account.changes[0]).toBe('database in eu')
  await provision(resources(), weur, () => {})
  await expect(provision(resources(), { ...weur, jurisdiction: 'us' }, () => {})).rejects.toThrow(
    'The database d-1 is in the jurisdiction eu, not us. D1 sets it only when it creates a database: delete this one and its line in wrangler.toml, or leave --jurisdiction out.',
  )
})
