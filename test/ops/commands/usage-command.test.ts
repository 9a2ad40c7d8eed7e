import { beforeAll, expect, test } from 'vitest'
import { createPartner } from '../../../src/ops/core/partner-accounts.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
const attribution = { actor: 'test', command: 'test', note: null }

beforeAll(async () => {
  const store = openBindingStore(bindings())
  for (const shortName of ['acme', 'silent']) {
    await createPartner(store, { shortName, name: 'Acme', country: 'KE' }, attribution)
  }
})

const usage = (...args: string[]) => runCommand(['partner', 'usage', ...args])
const remote = ['--remote', '--env', 'staging']
const dataset = 'partner_investment_plan_catalog_staging'

/** @param count how many requests one data point stands for. */
function record(count: number, route: string, status: number, error: string, time: string, partner = 'acme') {
  const point = { indexes: [partner], blobs: [route, String(status), 'KE', '', error], doubles: [] }
  cloudflare().analytics.write(dataset, point, new Date(time), count)
}

test('partner usage of a silent partner', async () => {
  record(1, '', 404, '', '2026-10-31T00:00:00Z', 'other')
  const { stdout, stderr } = await usage('silent', '--json', '--since', '100d', ...remote)
  expect(stderr).toBe('Cloudflare keeps these data for three months: earlier requests are not counted.\n')
  const counts = { tokens: 0, lists: 0, unchangedLists: 0, errors: {} }
  expect(JSON.parse(stdout)).toEqual({ ...counts, lastRequestAt: null, lastTokenAt: null })
  expect((await usage('silent', '--since', '90d', ...remote)).stderr).toBe('')
})

test('partner usage counts lists, tokens and errors, and says when the partner was last seen', async () => {
  const list = '/api/v3/partners/:shortName/plans'
  record(20, list, 200, '', '2026-11-21T10:00:00Z')
  record(60, list, 304, '', '2026-11-22T10:00:00Z')
  record(3, list, 401, 'expired_token', '2026-11-20T10:00:00Z')
  record(8, '/api/v3/partners/auth', 200, '', '2026-11-22T09:00:00Z')
  record(1, list, 200, '', '2026-10-31T00:00:00Z')
  record(1, list, 200, '', '2026-11-22T00:00:00Z', 'other')
  const { code, stdout } = await usage('acme', '--since', '2026-11-01', ...remote)
  expect([code, stdout]).toEqual([
    0,
    `since          2026-10-31T21:00:00Z
lists          80, 75 % of them unchanged (304)
tokens         8, one for 10.0 lists
last request   2026-11-22T10:00:00Z
last token     2026-11-22T09:00:00Z
expired_token  3
`,
  ])
})

test('partner usage has no data locally, and names an unknown partner and a refusal', async () => {
  expect(await usage('acme')).toEqual(refused('There is no data locally: add --remote --env NAME.\n'))
  expect((await usage('nobody', ...remote)).stderr).toMatch(/^There is no partner "nobody"\./)
  cloudflare().failure = { call: /analytics/, status: 403, message: 'no permission' }
  expect((await usage('acme', ...remote)).stderr).toMatch(/^Cloudflare refuses the token \(403\): /)
})
