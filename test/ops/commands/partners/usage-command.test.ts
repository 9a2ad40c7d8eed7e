import { beforeAll, expect, test } from 'vitest'
import { createPartner } from '../../../../src/ops/core/partners/partner-accounts.ts'
import { openBindingStore } from '../../support/binding-store.ts'
import { useFakeCloudflare } from '../../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { refused, runCommand } from '../../support/run-ops.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
const attribution = { actor: 'test', command: 'test', note: null }

beforeAll(async () => {
  await createPartner(openBindingStore(bindings()), { shortName: 'acme', name: 'Acme', country: 'KE' }, attribution)
})

const usage = (...args: string[]) => runCommand(['partner', 'usage', ...args])
const remote = ['--remote', '--env', 'staging']
const dataset = 'partner_investment_plan_catalog_staging'

/** @param count how many requests one data point stands for. */
function record(count: number, route: string, status: number, error: string, time: string, partner = 'acme') {
  const point = { indexes: [partner], blobs: [route, String(status), 'KE', '', error], doubles: [] }
  cloudflare().analytics.write(dataset, point, new Date(time), count)
}

test('partner usage counts lists, tokens and errors, and says when the partner was last seen', async () => {
  const list = '/api/v3/partners/:shortName/plans'
  record(20, list, 200, '', '2026-11-21T10:00:00Z')
  record(60, list, 304, '', '2026-11-22T10:00:00Z')
  record(3, list, 401, 'invalid_token', '2026-11-20T10:00:00Z')
  record(8, '/api/v3/partners/auth', 200, '', '2026-11-22T09:00:00Z')
  record(1, list, 200, '', '2026-10-31T00:00:00Z')
  record(1, list, 200, '', '2026-11-22T00:00:00Z', 'other')
  const { code, stdout } = await usage('acme', '--since', '2026-11-01T00:00Z', ...remote)
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `REQUEST  STATUS  ERROR          REQUESTS  LAST AT
list     304                    60        2026-11-22T10:00:00Z
token    200                    8         2026-11-22T09:00:00Z
list     200                    20        2026-11-21T10:00:00Z
list     401     invalid_token  3         2026-11-20T10:00:00Z
`,
  })
})

test('partner usage says what it can’t count', async () => {
  expect(await usage('acme')).toEqual(refused('Requests are not counted locally: add --remote --env NAME.\n'))
  expect((await usage('nobody', ...remote)).stderr).toMatch(/^There is no partner "nobody"\./)
})
