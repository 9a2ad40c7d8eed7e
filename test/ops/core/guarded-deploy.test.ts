import { expect, test } from 'vitest'
import type { ConfiguredEnvironment, DeployState } from '../../../src/ops/store/deployment.ts'
import type { LiveVersion } from '../../../src/ops/store/worker-versions.ts'
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
}
const ready: DeployState = { newDomains: [], changedFiles: [] }
const flags: DeployOptions = { allowDirty: false, skipCheck: false, hasTerminal: false }
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
    examine: () => Promise.resolve([]),
    listLiveVersions: () => Promise.resolve([{ versionId: 'old', percentage: 100 }]),
    findOrigin: () => Promise.resolve('https://catalog.acme.workers.dev'),
    check: () => Promise.resolve(true),
    deploy: () => Promise.resolve('new'),
    smokeTest: () => Promise.resolve('passed'),
    ...overrides,
  }
  const watched: DeploySteps = {
    ...steps,
    check: () => (ran.push('check'), steps.check()),
    deploy: (origin) => (ran.push(`deploy ${origin}`), steps.deploy(origin)),
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
  const host = 'https://catalog.acme.workers.dev'
  expect(await run()).toEqual({
    ran: ['check', `deploy ${host}`, `smoke ${host} new`],
    lines: [`Version new is deployed to staging: ${host}`, back],
    error: undefined,
  })
})

test.each<[string, Situation]>([
  [
    'wrangler.toml lacks the database_id of DB and the id of CATALOG_CACHE in [env.staging]. See "The first deploy" in src/worker/DEPLOY.md.',
    { environment: { databaseId: undefined, namespaceId: '' } },
  ],
  [
    '[env.staging] has a route, and workers_dev is on: the rules of its zone would not apply at workers.dev. Remove workers_dev from wrangler.toml.',
    { environment: { hasRoute: true, isWorkersDevOn: true } },
  ],
  [
    'catalog.example.com is not yet a domain of this Worker, and would be taken from whatever has it. Make the first deploy with it by hand, in a terminal: npm run deploy -- --env staging',
    { state: { newDomains: ['catalog.example.com'] } },
  ],
  [
    'The checkout has changes in a, b, c and 2 more. Commit them, or add --allow-dirty.',
    { state: { changedFiles: ['a', 'b', 'c', 'd', 'e'] } },
  ],
  [
    'This folder is not a git checkout, so the deploy could not be traced. Add --allow-dirty to deploy it anyway.',
    { state: { changedFiles: 'no checkout' } },
  ],
  [
    'npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.',
    { check: () => Promise.resolve(false) },
  ],
  [
    'The route of [env.staging] in wrangler.toml names no host. Add --url.',
    {
      findOrigin: () =>
        Promise.reject(new Error('The route of [env.staging] in wrangler.toml names no host. Add --url.')),
    },
  ],
  [
    // All at once.
    'The Worker has no signing key.\nThe checkout has changes in a. Commit them, or add --allow-dirty.',
    { examine: () => Promise.resolve(['The Worker has no signing key.']), state: { changedFiles: ['a'] } },
  ],
])('a deploy is refused: %s', async (message, situation) => {
  const { ran, lines, error } = await run(situation)
  expect([error, lines]).toEqual([message, []])
  expect(ran.join()).not.toContain('deploy')
})

test('flags allow files that are not committed, and skip the check', async () => {
  const asked: boolean[] = []
  const readState = (allowDirty: boolean) => (asked.push(allowDirty), Promise.resolve(ready))
  const { ran, error } = await run({ readState, options: { allowDirty: true, skipCheck: true } })
  expect([asked, ran[0], error]).toEqual([[true], 'deploy https://catalog.acme.workers.dev', undefined])
})

const fail = () => Promise.resolve(undefined)
/** @param later what Cloudflare answers after the deploy. */
function changeVersions(later: () => Promise<LiveVersion[]>): DeploySteps['listLiveVersions'] {
  let isAsked = false
  return () => {
    const answer = isAsked ? later() : Promise.resolve([{ versionId: 'old', percentage: 100 }])
    isAsked = true
    return answer
  }
}
const url = 'https://catalog.acme.workers.dev'

test.each<[string, Situation]>([
  [`The smoke test failed, and version new is live. ${back}`, { smokeTest: () => Promise.resolve('failed') }],
  [
    `Version new is live, and not tested: ${url} does not answer. A new domain does once it has its DNS record and its certificate. Then run: npm run -s smoke -- --url ${url} --version catalog-staging=new\n${back}`,
    { smokeTest: () => Promise.resolve('unreachable') },
  ],
  [
    'wrangler deploy failed, and nothing changed in staging: see its message above, and "When Cloudflare refuses" in src/worker/DEPLOY.md.',
    { deploy: fail },
  ],
  [
    `wrangler deploy failed, and version new is live in staging: see its message above, and deploy again. ${back}`,
    { deploy: fail, listLiveVersions: changeVersions(async () => [{ versionId: 'new', percentage: 100 }]) },
  ],
  [
    `wrangler deploy failed: see its message above. It is not known whether a new version is live in staging: Cloudflare answered 503: down. When Cloudflare answers, see: npx wrangler deployments status --env staging. ${back}`,
    {
      deploy: fail,
      listLiveVersions: changeVersions(() => Promise.reject(new Error('Cloudflare answered 503: down.'))),
    },
  ],
])('a deploy that did not succeed says what is live, and how to go on: %s', async (message, situation) => {
  expect((await run(situation)).error).toBe(message)
})

test.each<[string, LiveVersion[]]>([
  ['It is the first version, so there is none to go back to.', []],
  // During a gradual deploy: the version with most of the requests.
  [back, ['canary', 'old'].map((versionId, index) => ({ versionId, percentage: index * 80 + 10 }))],
])('the way back: %s', async (line, versions) => {
  expect((await run({ listLiveVersions: () => Promise.resolve(versions) })).lines.at(-1)).toBe(line)
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
