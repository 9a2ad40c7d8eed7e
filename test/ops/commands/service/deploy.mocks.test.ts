import { beforeAll, expect, test, vi } from 'vitest'
import { readOrigin } from '../../../../src/api/origin.ts'
import {
  describeIncompleteCredentials,
  runSmokeTest,
  type SmokeResult,
} from '../../../../src/ops/core/service/smoke-test.ts'
import { isCleanCheckout } from '../../../../src/ops/store/checkout.ts'
import { deployWithWrangler, findLiveVersionId, runProjectCheck } from '../../../../src/ops/store/deployment.ts'
import { openStores } from '../../support/binding-store.ts'
import { recordMigrations, useMemoryBindings } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { runCommand, type Terminal } from '../../support/run-ops.ts'

vi.mock(import('../../../../src/ops/store/checkout.ts'), async (load) => ({
  ...(await load()),
  isCleanCheckout: vi.fn<typeof isCleanCheckout>(),
}))
vi.mock(import('../../../../src/ops/store/deployment.ts'), () => ({
  deployWithWrangler: vi.fn<typeof deployWithWrangler>(),
  findLiveVersionId: vi.fn<typeof findLiveVersionId>(),
  runProjectCheck: vi.fn<typeof runProjectCheck>(),
}))
vi.mock(import('../../../../src/ops/core/service/smoke-test.ts'), async (load) => ({
  ...(await load()),
  runSmokeTest: vi.fn<typeof runSmokeTest>(),
}))

const bindings = useMemoryBindings()
beforeAll(() => recordMigrations(bindings()))
const host = 'https://catalog.acme.workers.dev'
const back = 'To go back to the version before: npx wrangler rollback old --env staging\n'

const end = (outcome: SmokeResult['outcome']) =>
  vi.mocked(runSmokeTest).mockResolvedValue({ outcome, failures: [], passed: 0 })

/** @param change makes a step fail. */
function deploy(change: () => unknown = () => {}, key = '1790000000', words: string[] = [], terminal: Terminal = {}) {
  for (const step of [deployWithWrangler, findLiveVersionId, runProjectCheck, runSmokeTest]) vi.mocked(step).mockReset()
  vi.mocked(isCleanCheckout).mockResolvedValue(true)
  vi.mocked(runProjectCheck).mockResolvedValue(true)
  vi.mocked(findLiveVersionId).mockResolvedValue('old')
  vi.mocked(deployWithWrangler).mockResolvedValue('new')
  end('passed')
  change()
  const overrides: Parameters<typeof runCommand>[1] = {
    variables: {},
    requireOrigin: async () => host,
    openSecrets: async () => createMemorySecrets(`JWT_KEY_${key}`),
    withStore: openStores(bindings),
  }
  return runCommand(['deploy', '--env', 'staging', ...words], overrides, terminal)
}

test('a deploy checks the project, deploys, tests the new version, and says how to go back', async () => {
  expect(await deploy()).toEqual({
    code: 0,
    stdout: `Version new is deployed to staging: ${host}\n${back}`,
    stderr: '',
  })
  expect(runProjectCheck).toHaveBeenCalled()
  expect(deployWithWrangler).toHaveBeenCalledWith('staging', host)
  const version = { workerName: 'partner-investment-plan-catalog-staging', id: 'new' }
  const [target] = vi.mocked(runSmokeTest).mock.calls[0] ?? []
  expect(target).toMatchObject({ origin: host, version })
})

test.each<[string, () => unknown, string?]>([
  [
    'Not everything here is committed: see git status. Commit it, or add --allow-dirty.\nNothing was changed.\n',
    () => vi.mocked(isCleanCheckout).mockResolvedValue(false),
  ],
  ['The Worker has no signing key, or each key signs only later. Run: ', () => {}, '9999999999'],
  [
    'npm run check failed. Fix what it names, or add --skip-check.\nNothing was changed.\n',
    () => vi.mocked(runProjectCheck).mockResolvedValue(false),
  ],
])('a deploy is refused: %s', async (message, change, key) => {
  const { code, stdout, stderr } = await deploy(change, key)
  expect({ code, stdout, start: stderr.slice(0, message.length) }).toEqual({ code: 2, stdout: '', start: message })
  expect(deployWithWrangler).not.toHaveBeenCalled()
})

test.each<[string, () => unknown]>([
  ['The smoke test failed, and version new is live.', () => end('failed')],
  ['Version new is live, but not tested:', () => end('unreachable')],
  ['wrangler deploy failed:', () => vi.mocked(deployWithWrangler).mockResolvedValue(undefined)],
])('a deploy that did not succeed says how to go back: %s', async (message, change) => {
  const { code, stderr } = await deploy(change)
  const start = stderr.slice(0, message.length)
  expect({ code, start, end: stderr.slice(-back.length) }).toEqual({ code: 2, start: message, end: back })
})

test('after a deploy whose address does not answer yet, the error names the command of the smoke test', async () => {
  const { stderr } = await deploy(() => end('unreachable'))
  expect(stderr).toMatch(new RegExp(`: npm run smoke -- --url ${host}$`, 'm'))
})

test('a checkout that is older than the database is deployed only when somebody agrees', async () => {
  await bindings().DB.prepare("insert into d1_migrations (name) values ('9999_newer.sql')").run()
  const replace = (words: string[] = [], terminal: Terminal = {}) => deploy(() => {}, undefined, words, terminal)
  try {
    const { code, stderr } = await replace()
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/lacks 9999_newer\.sql.* add --yes/) })
    expect((await replace([], { isTTY: true, stdin: 'n\n' })).code).toBe(2)
    expect(deployWithWrangler).not.toHaveBeenCalled()
    expect((await replace([], { isTTY: true, stdin: 'y\n' })).code).toBe(0)
    expect((await replace(['--yes'])).code).toBe(0)
  } finally {
    await bindings().DB.prepare("delete from d1_migrations where name = '9999_newer.sql'").run()
  }
})

test('after the first deploy, there is no way back', async () => {
  const { stdout } = await deploy(() => vi.mocked(findLiveVersionId).mockResolvedValue(undefined))
  expect(stdout).toMatch(/^This is the first version: there is no version to go back to\.$/m)
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
  expect(describeIncompleteCredentials(variables)).toBe(problem)
})
