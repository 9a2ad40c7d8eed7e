import { expect, test } from 'vitest'
import { findIncompleteCredentials } from '../../../src/ops/core/smoke-test.ts'
import { readOrigin } from '../../../src/api/origin.ts'
import { deployGuarded, type DeploySteps } from '../../../src/ops/core/guarded-deploy.ts'

const host = 'https://catalog.acme.workers.dev'
const back = 'To go back to the version before: npx wrangler rollback old --env staging'

/** @returns the steps that ran, the output, and the error. */
async function run(overrides: Partial<DeploySteps> = {}) {
  const ran: string[] = []
  const lines: string[] = []
  const steps: DeploySteps = {
    findObstacles: () => Promise.resolve([]),
    findOrigin: () => Promise.resolve(host),
    check: () => Promise.resolve(true),
    findLiveVersion: () => Promise.resolve('old'),
    deploy: () => Promise.resolve('new'),
    smokeTest: () => Promise.resolve('passed'),
    ...overrides,
  }
  const watched: DeploySteps = {
    ...steps,
    check: () => (ran.push('check'), steps.check()),
    deploy: (site) => (ran.push(`deploy ${site}`), steps.deploy(site)),
    smokeTest: (url, versionId) => (ran.push(`smoke ${url} ${versionId}`), steps.smokeTest(url, versionId)),
  }
  const error = await deployGuarded('staging', watched, (line) => void lines.push(line)).then(
    () => undefined,
    (reason: Error) => reason.message,
  )
  return { ran, lines, error }
}

test('a deploy checks the project, deploys, tests the new version, and says how to go back', async () => {
  expect(await run()).toEqual({
    ran: ['check', `deploy ${host}`, `smoke ${host} new`],
    lines: [`Version new is deployed to staging: ${host}`, back],
    error: undefined,
  })
})

test.each<[string, Partial<DeploySteps>]>([
  ['First.\nSecond.', { findObstacles: () => Promise.resolve(['First.', 'Second.']) }],
  [
    'npm run check failed, so nothing was deployed. Fix what it names, or add --skip-check.',
    { check: () => Promise.resolve(false) },
  ],
  ['names no host', { findOrigin: () => Promise.reject(new Error('names no host')) }],
])('a deploy is refused: %s', async (message, overrides) => {
  const { ran, lines, error } = await run(overrides)
  expect([error, lines]).toEqual([message, []])
  expect(ran.join()).not.toContain('deploy')
})

test.each<[string, Partial<DeploySteps>]>([
  ['The smoke test failed, and version new is live.', { smokeTest: () => Promise.resolve('failed') }],
  ['Version new is live, and not tested:', { smokeTest: () => Promise.resolve('unreachable') }],
  ['wrangler deploy failed:', { deploy: () => Promise.resolve(undefined) }],
])('a deploy that did not succeed says how to go back: %s', async (message, overrides) => {
  const { error } = await run(overrides)
  expect([error?.startsWith(message), error?.endsWith(back)]).toEqual([true, true])
})

test('after the first deploy, there is no way back', async () => {
  const { lines } = await run({ findLiveVersion: () => Promise.resolve(undefined) })
  expect(lines.at(-1)).toBe('It is the first version, so there is none to go back to.')
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
