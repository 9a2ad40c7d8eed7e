import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useMemoryBindings()
const today = new Date().toISOString().slice(0, 10)
let server: Server | undefined
let origin = ''
let recoveringCount = 0

beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    if (pathname === '/get-only' && request.method === 'HEAD') response.statusCode = 405
    if (pathname === '/gone') response.statusCode = 404
    if (pathname === '/forbidden') response.statusCode = 403
    if (pathname === '/busy') response.statusCode = 429
    if (pathname === '/broken') response.statusCode = 500
    if (pathname === '/recovering' && ++recoveringCount <= 2) response.statusCode = 503
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server?.close())
beforeEach(() => emptyDatabase(bindings()))
afterEach(() => {
  vi.restoreAllMocks()
})

const check = (...args: string[]) =>
  runCommand(['catalog', 'check', ...args], {
    withStore: (target, work) => work(openBindingStore(bindings(), target)),
  })
const publish = (...plans: ReturnType<typeof makePlan>[]) => publishPlans(openDatabase(bindings().DB), plans)

test('catalog check exits with 3 and prints the errors first', async () => {
  await publish(
    makePlan({ id: 1, performanceDate: today, viewableIn: [] }),
    makePlan({ id: 2, performanceDate: '2062-01-31' }),
  )
  expect(await check()).toEqual({
    code: 3,
    stdout: `LEVEL    SUBJECT  FINDING
error    plan-2   performanceDate 2062-01-31 is in the future.
warning  plan-1   The plan is viewable in no country.
`,
    stderr: '1 error needs a fix.\n',
  })
  const { code, stdout } = await check('--json')
  expect([code, JSON.parse(stdout).length]).toEqual([3, 2])
})

test('catalog check without a finding exits with 0', async () => {
  await publish(makePlan({ performanceDate: today }))
  expect(await check()).toEqual({ code: 0, stdout: '', stderr: 'Nothing to look at.\n' })
})

test('catalog check --links requests each working address once, and finds dead ones', async () => {
  // Links must be https: the requests go to a server on loopback.
  const request = globalThis.fetch
  const seen: string[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation((url, init) => {
    const address = typeof url === 'string' ? url : ''
    seen.push(`${init?.method} ${address}`)
    const code = address.startsWith('https://failing.example.com/') ? address.split('/').at(-1) : undefined
    if (code === 'timeout') return Promise.reject(new DOMException('', 'TimeoutError'))
    if (code !== undefined) {
      return Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }))
    }
    return request(address.replace('https://links.example.com', origin), init)
  })
  const link = (path: string) => `https://links.example.com/${path}`
  await publish(
    makePlan({
      performanceDate: today,
      imageUrl: link('fine'),
      thumbnail: link('get-only'),
      factSheet: link('gone'),
      prospectus: link('broken'),
    }),
    makePlan({
      id: 2,
      name: 'Other',
      coolName: 'Other',
      performanceDate: today,
      imageUrl: link('fine'),
      thumbnail: link('fine'),
      factSheet: 'https://127.0.0.1:59999/closed',
      prospectus: link('busy'),
    }),
  )
  const failing = (code: string) => `https://failing.example.com/${code}`
  await publish(
    makePlan({
      id: 3,
      name: 'Third',
      coolName: 'Third',
      performanceDate: today,
      imageUrl: failing('ENOTFOUND'),
      thumbnail: failing('CERT_HAS_EXPIRED'),
      factSheet: failing('ERR_TLS_CERT_ALTNAME_INVALID'),
      prospectus: failing('UNABLE_TO_VERIFY_LEAF_SIGNATURE'),
    }),
    makePlan({
      id: 4,
      name: 'Fourth',
      coolName: 'Fourth',
      performanceDate: today,
      imageUrl: failing('timeout'),
      thumbnail: failing('UND_ERR_CONNECT_TIMEOUT'),
      factSheet: link('forbidden'),
      prospectus: link('recovering'),
    }),
  )
  const { code, stdout } = await check('--links')
  expect([code, stdout]).toEqual([
    3,
    `LEVEL    SUBJECT  FINDING
error    plan-1   factSheet https://links.example.com/gone answers 404.
error    plan-1   prospectus https://links.example.com/broken answers 500.
error    plan-3   imageUrl https://failing.example.com/ENOTFOUND can’t be reached (ENOTFOUND).
error    plan-3   thumbnail https://failing.example.com/CERT_HAS_EXPIRED can’t be reached (CERT_HAS_EXPIRED).
error    plan-3   factSheet https://failing.example.com/ERR_TLS_CERT_ALTNAME_INVALID can’t be reached (ERR_TLS_CERT_ALTNAME_INVALID).
error    plan-3   prospectus https://failing.example.com/UNABLE_TO_VERIFY_LEAF_SIGNATURE can’t be reached (UNABLE_TO_VERIFY_LEAF_SIGNATURE).
warning  plan-2   factSheet https://127.0.0.1:59999/closed can’t be reached (ECONNREFUSED).
warning  plan-2   prospectus https://links.example.com/busy answers 429.
warning  plan-4   imageUrl https://failing.example.com/timeout gives no answer within 10 s.
warning  plan-4   thumbnail https://failing.example.com/UND_ERR_CONNECT_TIMEOUT can’t be reached (UND_ERR_CONNECT_TIMEOUT).
warning  plan-4   factSheet https://links.example.com/forbidden answers 403.
`,
  ])
  expect(seen.filter((line) => line.endsWith('/fine'))).toEqual(['HEAD https://links.example.com/fine'])
})
