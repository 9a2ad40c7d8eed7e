import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useLocalBindings } from '../support/local-bindings.ts'
import { runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useLocalBindings()
const today = new Date().toISOString().slice(0, 10)
let server: Server | undefined
let origin = ''

beforeAll(async () => {
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost')
    if (pathname === '/get-only' && request.method === 'HEAD') response.statusCode = 405
    if (pathname === '/gone') response.statusCode = 404
    if (pathname === '/busy') response.statusCode = 429
    if (pathname === '/broken') response.statusCode = 500
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

test('catalog check --links requests each address once, and finds dead ones', async () => {
  // Links must be https: the requests go to a server on loopback.
  const request = globalThis.fetch
  const seen: string[] = []
  vi.spyOn(globalThis, 'fetch').mockImplementation((url, init) => {
    const address = typeof url === 'string' ? url : ''
    seen.push(`${init?.method} ${address}`)
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
  const { code, stdout } = await check('--links')
  expect([code, stdout]).toEqual([
    3,
    `LEVEL    SUBJECT  FINDING
error    plan-1   factSheet https://links.example.com/gone answers 404.
warning  plan-1   prospectus https://links.example.com/broken answers 500.
warning  plan-2   factSheet https://127.0.0.1:59999/closed: it can’t be reached (ECONNREFUSED).
warning  plan-2   prospectus https://links.example.com/busy answers 429.
`,
  ])
  expect(seen.filter((line) => line.endsWith('/fine'))).toEqual(['HEAD https://links.example.com/fine'])
})
