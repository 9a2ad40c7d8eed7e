import { beforeAll, expect, test } from 'vitest'
import { createPartner } from '../../../src/ops/core/partner-accounts.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useLocalBindings } from '../support/local-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'

const bindings = useLocalBindings()
const cloudflare = useFakeCloudflare(bindings)
const attribution = { actor: 'test', command: 'test', note: null }

beforeAll(async () => {
  const store = openBindingStore(bindings())
  await createPartner(store, { shortName: 'acme', name: 'Acme', country: 'KE' }, attribution)
})

const usage = (...args: string[]) => runCommand(['partner', 'usage', ...args])
const remote = ['--remote', '--env', 'staging']
const route = '/api/v3/partners/:shortName/plans'

test('partner usage counts lists, tokens and errors, and says when the partner was last seen', async () => {
  cloudflare().usage = [
    { route, status: '200', error: '', requests: '20', latest: '2026-11-21 10:00:00' },
    { route, status: '304', error: '', requests: '60', latest: '2026-11-22 10:00:00' },
    { route, status: '401', error: 'expired_token', requests: '3', latest: '2026-11-20 10:00:00' },
    { route: '/api/v3/partners/auth', status: '200', error: '', requests: '8', latest: '2026-11-22 09:00:00' },
  ]
  const { code, stdout } = await usage('acme', '--since', '2026-11-01', ...remote)
  expect([code, stdout]).toEqual([
    0,
    `since          2026-11-01T00:00:00Z
lists          80, 75 % of them unchanged (304)
tokens         8, one for 10.0 lists
last request   2026-11-22T10:00:00Z
last token     2026-11-22T09:00:00Z
expired_token  3
`,
  ])
  expect(cloudflare().questions.at(-1)).toBe(
    `SELECT blob1 AS route, blob2 AS status, blob5 AS error, SUM(_sample_interval) AS requests, MAX(timestamp) AS latest FROM partner_investment_plan_catalog_staging WHERE index1 = 'acme' AND timestamp > toDateTime(1793491200) GROUP BY route, status, error FORMAT JSON`,
  )
})

test('partner usage of a silent partner', async () => {
  cloudflare().usage = []
  const { stdout, stderr } = await usage('acme', '--json', '--since', '100d', ...remote)
  expect(stderr).toBe('Cloudflare keeps these data for three months: earlier requests are not counted.\n')
  const counts = { tokens: 0, lists: 0, unchangedLists: 0, errors: {} }
  expect(JSON.parse(stdout)).toEqual({ ...counts, lastRequestAt: null, lastTokenAt: null })
  expect((await usage('acme', '--since', '90d', ...remote)).stderr).toBe('')
})

test('partner usage has no data locally, and names an unknown partner and a refusal', async () => {
  expect(await usage('acme')).toEqual(refused('There is no data locally: add --remote --env NAME.\n'))
  expect((await usage('nobody', ...remote)).stderr).toMatch(/^There is no partner "nobody"\./)
  cloudflare().failure = { call: /analytics/, status: 403, message: 'no permission' }
  const refusal =
    /^Cloudflare refuses the token \(403\): .* has Account Analytics Read, and that CLOUDFLARE_ACCOUNT_ID is its account\.\n$/
  expect(await usage('acme', ...remote)).toEqual(refused(expect.stringMatching(refusal)))
})
