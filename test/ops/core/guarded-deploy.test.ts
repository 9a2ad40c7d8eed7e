import { expect, test } from 'vitest'
import type { ConfiguredEnvironment, DeployState } from '../../../src/ops/store/deployment.ts'
import type { LiveVersion } from '../../../src/ops/store/worker-versions.ts'
import { pickUrl } from '../../../src/ops/core/guarded-deploy.ts'
import { findIncompleteCredentials } from '../../../src/ops/core/smoke-test.ts'
import { readOrigin } from '../../../src/api/origin.ts'
import { deployGuarded, type DeployOptions, type DeploySteps } from '../../../src/ops/core/guarded-deploy.ts'

const staging: ConfiguredEnvironment = {
  env: 'staging',
  worker: 'catalog-staging',
  databaseId: 'database',
  namespaceId: 'namespace',
  hasRoute: false,
  domains: [],
  isWorkersDevOn: false,
  hasVersionBinding: true,
}
const ready: DeployState = { pendingMigrations: [], missingSecrets: [], newDomains: [], changedFiles: [] }
const flags: DeployOptions = { allowDirty: false, skipCheck: false, url: undefined, hasTerminal: false }
const back = 'To go back to the version before: npx wrangler rollback old --env staging'

interface Situation extends Partial<DeploySteps> {
  environment?: Partial<ConfiguredEnvironment>
  options?: Partial<DeployOptions>
  state?: Partial<DeployState>
}

/** @returns the steps that ran, the output, and the error. */
async function run({ environment = {}, options = {}, state = {}, ...overrides }: Situation = {}) {
  const ran: string[] = []
  const lines: string[] = []
  const steps: DeploySteps = {
    readState: () => Promise.resolve({ ...ready, ...state }),
    listLiveVersions: () => Promise.resolve([{ versionId: 'old', percentage: 100 }]),
    check: () => Promise.resolve(true),
    deploy: () => Promise.resolve({ versionId: 'new', targets: ['catalog.acme.workers.dev', 'schedule: * * * * *'] }),
    lacksNameOrCertificate: () => Promise.resolve(false),
    smokeTest: () => Promise.resolve('passed'),
    ...overrides,
  }
  const watched: DeploySteps = {
    ...steps,
    check: () => (ran.push('check'), steps.check()),
    deploy: () => (ran.push('deploy'), steps.deploy()),
    smokeTest: (url, versionId) => (ran.push(`smoke ${url} ${versionId}`), steps.smokeTest(url, versionId)),
  }
  const error = await deployGuarded(
    { ...staging, ...environment },
    { ...flags, ...options },
    watched,
    (line) => void lines.push(line),
  ).then(
    () => undefined,
    (reason: Error) => reason.message,
  )
  return { ran, lines, error }
}

test('a deploy checks the project, deploys, tests the new version, and says how to go back', async () => {
  const url = 'https://catalog.acme.workers.dev'
  expect(await run()).toEqual({
    ran: ['check', 'deploy', `smoke ${url} new`],
    lines: [`Version new is deployed to staging: ${url}`, back],
    error: undefined,
  })
})

test.each<[string, Situation, string]>([
  [
    'missing IDs',
    { environment: { databaseId: undefined, namespaceId: '' } },
    'wrangler.toml lacks the database_id of DB and the id of CATALOG_CACHE in [env.staging]. Run: npm run provision -- --env staging; then commit wrangler.toml.',
  ],
  [
    'a route and workers.dev',
    { environment: { hasRoute: true, isWorkersDevOn: true } },
    '[env.staging] has a route, and workers_dev is on: the rules of its zone would not apply at workers.dev. Remove workers_dev from wrangler.toml.',
  ],
  [
    'no binding for the version',
    { environment: { hasVersionBinding: false } },
    '[env.staging] has no binding VERSION, so the smoke test could not tell the new version from the one before. Add the table [env.staging.version_metadata] to wrangler.toml, with the line binding = "VERSION".',
  ],
  [
    'pending migrations',
    { state: { pendingMigrations: ['0007_a.sql', '0008_b.sql'] } },
    'The database lacks 0007_a.sql, 0008_b.sql. Run: npm run -s migrate -- --remote --env staging',
  ],
  [
    'no signing key',
    { state: { missingSecrets: ['JWT_KEYS'] } },
    'The secret JWT_KEYS is not set. Run: npm run -s ops -- keys rotate --remote --env staging',
  ],
  [
    'another secret missing',
    { state: { missingSecrets: ['OTHER'] } },
    'The secret OTHER is not set. Run: npx wrangler secret put OTHER --env staging',
  ],
  [
    'a domain that is not the Worker’s yet',
    { state: { newDomains: ['catalog.example.com'] } },
    'catalog.example.com is not yet a domain of this Worker, and would be taken from whatever has it. Make the first deploy with it by hand, in a terminal: npm run deploy -- --env staging',
  ],
  [
    'changes that are not committed',
    { state: { changedFiles: ['a', 'b', 'c', 'd', 'e'] } },
    'The checkout has changes in a, b, c and 2 more. Commit them, or add --allow-dirty.',
  ],
  [
    'a folder without git',
    { state: { changedFiles: 'no checkout' } },
    'This folder is not a git checkout, so the deploy could not be traced. Add --allow-dirty to deploy it anyway.',
  ],
  [
    'a failing check',
    { check: () => Promise.resolve(false) },
    'npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.',
  ],
])('a deploy is refused in one line: %s', async (_, situation, line) => {
  const { ran, lines, error } = await run(situation)
  expect(error).toBe(line)
  expect(lines).toEqual([])
  expect(ran).not.toContain('deploy')
})

test('all obstacles are named at once', async () => {
  const { error } = await run({ state: { pendingMigrations: ['1.sql'], missingSecrets: ['X'], changedFiles: ['a'] } })
  expect(error?.split('\n')).toHaveLength(3)
})

test('flags allow files that are not committed, and skip the check', async () => {
  const asked: boolean[] = []
  const readState = (allowDirty: boolean) => (asked.push(allowDirty), Promise.resolve(ready))
  const { ran, error } = await run({ readState, options: { allowDirty: true, skipCheck: true } })
  expect([asked, ran[0], error]).toEqual([[true], 'deploy', undefined])
})

test('when the smoke test fails, the message says what is live and how to go back', async () => {
  const { error } = await run({ smokeTest: () => Promise.resolve('failed') })
  expect(error).toBe(`The smoke test failed, and version new is live. ${back}`)
})

test('when the address does not answer, the message says so', async () => {
  const { error } = await run({ smokeTest: () => Promise.resolve('unreachable') })
  expect(error).toBe(
    `The service does not answer at https://catalog.acme.workers.dev, and version new is live. ${back}`,
  )
})

test('a missing name or certificate is no failed deploy of a new domain, and is named when the domain is not new', async () => {
  const url = 'https://catalog.example.com'
  const unprepared: Situation = {
    deploy: () => Promise.resolve({ versionId: 'new', targets: ['catalog.example.com (custom domain)'] }),
    smokeTest: () => Promise.resolve('unreachable'),
    lacksNameOrCertificate: () => Promise.resolve(true),
  }
  const notice = `It is not tested: ${url} does not answer yet, for lack of its DNS record or its certificate. When it does, run: npm run -s smoke -- --url ${url} --version catalog-staging=new`
  expect(
    await run({
      ...unprepared,
      options: { hasTerminal: true },
      state: { newDomains: ['catalog.example.com'] },
    }),
  ).toEqual({
    ran: ['check', 'deploy', `smoke ${url} new`],
    lines: [`Version new is deployed to staging: ${url}`, notice, back],
    error: undefined,
  })
  expect((await run(unprepared)).error).toBe(`${notice} ${back}`)
})

test('after the first deploy there is no version to go back to', async () => {
  const { lines } = await run({ listLiveVersions: () => Promise.resolve([]) })
  expect(lines.at(-1)).toBe('It is the first version, so there is none to go back to.')
})

test('during a gradual deployment, the way back is the version with most of the requests', async () => {
  const versions = [
    { versionId: 'canary', percentage: 10 },
    { versionId: 'old', percentage: 90 },
  ]
  expect((await run({ listLiveVersions: () => Promise.resolve(versions) })).lines.at(-1)).toBe(back)
})

test('a deploy that fails says whether the new version is live', async () => {
  const deploy = () => Promise.resolve({ failureCode: undefined })
  expect((await run({ deploy })).error).toBe(
    'wrangler deploy failed, and nothing changed in staging: see its message above.',
  )
  const states: LiveVersion[][] = [[{ versionId: 'old', percentage: 100 }], [{ versionId: 'new', percentage: 100 }]]
  const listLiveVersions = () => Promise.resolve(states.shift() ?? [])
  expect((await run({ deploy, listLiveVersions })).error).toBe(
    `wrangler deploy failed, and version new is live in staging: see its message above, and deploy again. ${back}`,
  )
})

test.each([
  [
    10089,
    /nothing changed in staging\. Analytics Engine is off .* https:\/\/\S+\/workers\/analytics-engine, wait two minutes/,
  ],
  [
    100328,
    /nothing changed in staging\. The account has the free plan .* PBKDF2_ITERATIONS = 30000 in \[env\.staging\.vars\]/,
  ],
  [10021, /nothing changed in staging: see its message above\.$/],
])('a refusal of Cloudflare with the code %i says how to go on', async (failureCode, message) => {
  expect((await run({ deploy: () => Promise.resolve({ failureCode }) })).error).toMatch(message)
})

test('a deploy that fails names the way back, also when Cloudflare no longer answers', async () => {
  const answers = [Promise.resolve([{ versionId: 'old', percentage: 100 }])]
  const { error } = await run({
    deploy: () => Promise.resolve({ failureCode: undefined }),
    listLiveVersions: () => answers.shift() ?? Promise.reject(new Error('Cloudflare answered 503: down.')),
  })
  expect(error).toBe(
    `wrangler deploy failed: see its message above. It is not known whether a new version is live in staging: Cloudflare answered 503: down. When Cloudflare answers, see: npx wrangler deployments status --env staging. ${back}`,
  )
})

test('the smoke test uses the URL of the flag; without a host it is not run', async () => {
  expect((await run({ options: { url: 'http://localhost:1' } })).ran.at(-1)).toBe('smoke http://localhost:1 new')
  const { ran, error } = await run({ deploy: () => Promise.resolve({ versionId: 'new', targets: ['a.example/*'] }) })
  expect(ran).toEqual(['check', 'deploy'])
  expect(error).toBe(
    `Version new is deployed to staging, and not tested: wrangler names no host. Run: npm run -s smoke -- --url https://HOST; next time, add --url. ${back}`,
  )
})

test.each([
  [['schedule: * * * * *', 'a.b.workers.dev'], 'https://a.b.workers.dev'],
  [['a.b.workers.dev', 'catalog.example.com (custom domain)'], 'https://catalog.example.com'],
  [['example.com/*', 'schedule: * * * * *'], undefined],
])('the host among the targets %j is %s', (targets, url) => {
  expect(pickUrl(targets)).toBe(url)
})

test.each([
  ['https://catalog.example.com', 'https://catalog.example.com'],
  ['https://catalog.example.com:8443/', 'https://catalog.example.com:8443'],
  ['http://localhost:8787', 'http://localhost:8787'],
  ['http://127.0.0.1:8787', 'http://127.0.0.1:8787'],
  ['http://[::1]:8787', 'http://[::1]:8787'],
  ['catalog.example.com:8443', undefined],
  ['catalog.example.com', undefined],
  ['http://catalog.example.com', undefined],
  ['http://localhost.example.com', undefined],
  ['https://catalog.example.com/docs', undefined],
  ['https://user:secret@catalog.example.com', undefined],
  ['', undefined],
])('the origin of a service in %j is %s', (text, origin) => {
  expect(readOrigin(text)).toBe(origin)
})

test.each([
  [{}, undefined],
  [{ CLIENT_ID: '', CLIENT_SECRET: '', SHORT_NAME: '' }, undefined],
  [{ CLIENT_ID: 'a', CLIENT_SECRET: 'b', SHORT_NAME: 'c' }, undefined],
  [
    { CLIENT_ID: 'a', CLIENT_SECRET: 'b', SHORT_NAME: '' },
    'The smoke test lacks SHORT_NAME: set all of CLIENT_ID, CLIENT_SECRET, SHORT_NAME, or unset CLIENT_ID and CLIENT_SECRET.',
  ],
  [
    { SHORT_NAME: 'c' },
    'The smoke test lacks CLIENT_ID and CLIENT_SECRET: set all of CLIENT_ID, CLIENT_SECRET, SHORT_NAME, or unset SHORT_NAME.',
  ],
])('the credentials of the smoke test are all set, or none: %j', (variables, problem) => {
  expect(findIncompleteCredentials(variables)).toBe(problem)
})
