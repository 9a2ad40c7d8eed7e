import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { strFromU8, unzipSync } from 'fflate'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { buildSite, readSiteOrigin } from '../../src/site/build-site.ts'
import { writeBrunoCollection } from '../../src/site/collections/bruno-collection.ts'
import { readCollection, writeTests } from '../../src/site/collections/collection-requests.ts'
import { writePostmanCollection, writePostmanEnvironment } from '../../src/site/collections/postman-collection.ts'

interface Entry {
  key: string
  value: string
  disabled?: boolean
}

interface PostmanCollection {
  info: { schema: string }
  event: { listen: string; script: { exec: string[] } }[]
  item: { name: string; request: { method: string; header: Entry[]; url: { raw: string; query: Entry[] } } }[]
}

interface Operation {
  operationId: string
  parameters: object[]
  responses: object
}

interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>
}

const text = await readFile(join(import.meta.dirname, '../../src/openapi/openapi.json'), 'utf8')
const openapi: OpenapiDocument = JSON.parse(text)
const plansPath = '/api/v3/partners/{shortName}/plans'

function readPostman(document: string): PostmanCollection {
  return JSON.parse(writePostmanCollection(readCollection(document)))
}

describe('every operation is a request', () => {
  const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) => {
      const call = `${method.toUpperCase()} ${path.replace('{shortName}', '{{shortName}}')}`
      // The second request sends an ETag.
      return '304' in responses ? [call, call] : [call]
    }),
  )

  test('in Postman', () => {
    const { info, item } = readPostman(text)
    expect(item.map(({ request }) => `${request.method} ${request.url.raw}`)).toEqual(
      operations.map((call) => call.replace(' ', ' {{baseUrl}}')),
    )
    expect(info.schema).toBe('https://schema.getpostman.com/json/collection/v2.1.0/collection.json')
  })

  test('in Bruno', () => {
    const files = Object.values(writeBrunoCollection(readCollection(text)))
    const calls = files.flatMap((file) => {
      const [, method, url] = /^(\w+) \{\n  url: (.*)$/m.exec(file) ?? []
      return method === undefined ? [] : [`${method.toUpperCase()} ${url}`]
    })
    expect(calls).toEqual(operations.map((call) => call.replace(' ', ' {{process.env.API}}')))
  })
})

test('a query parameter is in the requests of its operation, switched off', () => {
  const changed = structuredClone(openapi)
  const parameter = { name: 'sector', in: 'query', description: 'Only plans of this sector.', example: 'Gold' }
  changed.paths[plansPath]?.['get']?.parameters.push(parameter)
  const document = JSON.stringify(changed)

  const option = { key: 'sector', value: 'Gold', description: 'Only plans of this sector.', disabled: true }
  const requests = readPostman(document).item.filter(({ request }) =>
    request.url.query.some((query) => query.key === 'sector'),
  )
  expect(requests.map(({ request }) => [request.method, request.url.query.at(-1)])).toEqual([
    ['GET', option],
    ['GET', option],
  ])

  const files = Object.entries(writeBrunoCollection(readCollection(document)))
  expect(files.filter(([, file]) => file.includes('\n  ~sector: Gold\n')).map(([name]) => name)).toEqual([
    'listPlans.bru',
    'listPlans-conditional.bru',
  ])
  expect(Object.fromEntries(files)['listPlans.bru']).toContain('- `sector`: Only plans of this sector.')
})

test('only the second request of an operation sends an ETag, the one that the first has kept', () => {
  const headers = readPostman(text).item.flatMap(({ request }) => request.header)
  expect(headers.map(({ key, value, disabled }) => [key, value, disabled])).toEqual([
    ['If-None-Match', expect.stringMatching(/^".+"$/), true],
    ['If-None-Match', '{{listPlansEtag}}', false],
    ['If-None-Match', expect.stringMatching(/^".+"$/), true],
    ['If-None-Match', '{{checkPlansEtag}}', false],
  ])
  const files = writeBrunoCollection(readCollection(text))
  expect(files['listPlans.bru']).toContain('\n  ~If-None-Match: "')
  expect(files['listPlans.bru']).toContain('bru.setVar("listPlansEtag"')
  expect(files['listPlans-conditional.bru']).toContain('\n  If-None-Match: {{listPlansEtag}}\n')
})

test('the environment of Postman has no credentials, and hides the secret', () => {
  const { values } = JSON.parse(writePostmanEnvironment(readCollection(text), 'https://plans.example.org')) as {
    values: (Entry & { type: string })[]
  }
  expect(values.map(({ key, value, type }) => [key, value, type])).toEqual([
    ['baseUrl', 'https://plans.example.org', 'default'],
    ['clientId', '', 'default'],
    ['clientSecret', '', 'secret'],
    ['shortName', '', 'default'],
  ])
})

interface Sent {
  url: string
  method: string
}

/** One tool with an empty memory. Its scripts run as before and after a request that needs a token. */
interface Session {
  values: Map<string, string>
  /** The token requests, each of which gets a token of one hour. */
  sent: Sent[]
  runTokenScript: () => Promise<void>
  runForgetScript: (status: number) => void
}

function startPostman(): Session {
  const [tokenScript = '', forgetScript = ''] = readPostman(text).event.map(({ script }) => script.exec.join('\n'))
  const values = new Map(
    Object.entries({ baseUrl: service, clientId: 'id', clientSecret: 'secret', shortName: 'acme' }),
  )
  const sent: Sent[] = []
  const memory = new Map<string, unknown>()
  const pm = {
    variables: values,
    request: { auth: { type: 'bearer' } },
    collectionVariables: {
      get: (name: string) => memory.get(name),
      set: (name: string, value: unknown) => memory.set(name, value),
      unset: (name: string) => memory.delete(name),
    },
    execution: { skipRequest: () => undefined },
    expect: {
      fail: (message: string) => {
        throw new Error(message)
      },
    },
    test: (_: string, check: () => void) => check(),
    sendRequest: (request: Sent, callback: (error: null, response: object) => void) => {
      sent.push({ url: request.url, method: request.method })
      callback(null, { code: 200, json: () => token })
    },
  }
  const run = (script: string, response?: { code: number }) =>
    runInNewContext(script, { pm: { ...pm, response }, Date, console: { error: () => undefined } })
  return {
    values,
    sent,
    runTokenScript: async () => run(tokenScript),
    runForgetScript: (code) => run(forgetScript, { code }),
  }
}

function startBruno(): Session {
  const file = writeBrunoCollection(readCollection(text))['collection.bru'] ?? ''
  const [tokenScript, forgetScript] = ['pre-request', 'post-response'].map(
    (when) => new RegExp(`^script:${when} \\{\n([^]*?)\n\\}$`, 'm').exec(file)?.[1],
  )
  const values = new Map(Object.entries({ API: service, CLIENT_ID: 'id', CLIENT_SECRET: 'secret', SHORT_NAME: 'acme' }))
  const sent: Sent[] = []
  const memory = new Map<string, unknown>()
  const bru = {
    getProcessEnv: (name: string) => values.get(name),
    getVar: (name: string) => memory.get(name),
    setVar: (name: string, value: unknown) => memory.set(name, value),
    deleteVar: (name: string) => memory.delete(name),
    sendRequest: async ({ url, method }: Sent) => {
      sent.push({ url, method })
      return { status: 200, data: token }
    },
  }
  const req = { getAuthMode: () => 'bearer' }
  return {
    values,
    sent,
    runTokenScript: () => runInNewContext(`(async () => {${tokenScript}})()`, { bru, req, Date }),
    runForgetScript: (status) => runInNewContext(String(forgetScript), { bru, res: { getStatus: () => status } }),
  }
}

const service = 'https://plans.example.org'
const token = { access_token: 'a.b.c', expires_in: 3600 }

describe.each([
  { tool: 'Postman', start: startPostman, address: 'baseUrl', place: 'Select the environment, and fill in' },
  { tool: 'Bruno', start: startBruno, address: 'API', place: 'Fill in .env beside the collection' },
])('the token script in $tool', ({ start, address, place }) => {
  test('stops without an address, and names the empty value', async () => {
    const { values, sent, runTokenScript } = start()
    values.set(address, '')
    await expect(runTokenScript()).rejects.toThrow(`${place}: ${address}.`)
    expect(sent).toEqual([])
  })

  test('gets a token once, and another one a minute before it ends', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { sent, runTokenScript } = start()
    await runTokenScript()
    expect(sent).toEqual([{ url: `${service}/api/v3/partners/auth`, method: 'POST' }])
    vi.advanceTimersByTime(3539_000)
    await runTokenScript()
    expect(sent.length).toBe(1)
    vi.advanceTimersByTime(2_000)
    await runTokenScript()
    expect(sent.length).toBe(2)
  })

  test('gets another token for another address or client, and after a 401', async () => {
    const { values, sent, runTokenScript, runForgetScript } = start()
    await runTokenScript()
    values.set(address, 'https://staging.example.org')
    await runTokenScript()
    expect(sent.map(({ url }) => new URL(url).origin)).toEqual([service, 'https://staging.example.org'])
    runForgetScript(200)
    await runTokenScript()
    expect(sent.length).toBe(2)
    runForgetScript(401)
    await runTokenScript()
    expect(sent.length).toBe(3)
    values.set(address === 'API' ? 'CLIENT_ID' : 'clientId', 'other')
    await runTokenScript()
    expect(sent.length).toBe(4)
  })
})

test('a line `}` in a description does not end its block in Bruno', () => {
  const changed = structuredClone(openapi)
  Object.assign(changed.paths[plansPath]!['get']!, { description: 'An object:\n{\n}\nAnd more.' })
  const file = writeBrunoCollection(readCollection(JSON.stringify(changed)))['listPlans.bru']
  expect(file).toContain('\ndocs {\n  An object:\n  {\n  }\n  And more.\n')
})

test('the tests of a response are JavaScript, whatever the names of its fields', () => {
  const expected = { status: '200', contentType: 'text/x', fields: ["owner's", 'a"b\\'], list: "owner's-plans" }
  const dialect = { test: 'test', expect: 'expect', status: '200', contentType: "'text/x'", body: 'body' }
  const names: string[] = []
  const context = {
    test: (name: string, check: () => void) => {
      names.push(name)
      check()
    },
    expect,
    body: { "owner's": 1, 'a"b\\': 2, data: { total: 3, "owner's-plans": [1, 2, 3] } },
  }
  runInNewContext(writeTests(expected, dialect).join('\n'), context)
  expect(names).toEqual(['Status 200', 'Content-Type text/x', `Has owner's, a"b\\`, "total counts owner's-plans"])
})

describe('the build ends on what a request would lack', () => {
  const listPlans = openapi.paths[plansPath]!['get']!
  test.each<[string, object, string]>([
    [
      'parameters of a path',
      { [plansPath]: { parameters: [] } },
      `parameters of ${plansPath}: it is for the whole path, and must be in each operation`,
    ],
    [
      'a reference to a parameter',
      { [plansPath]: { get: { ...listPlans, parameters: [{ $ref: '#/components/parameters/sector' }] } } },
      `get of ${plansPath}: {"$ref":"#/components/parameters/sector"} is not a parameter in path, query or header`,
    ],
    [
      'a cookie',
      { [plansPath]: { get: { ...listPlans, parameters: [{ name: 'id', in: 'cookie' }] } } },
      `get of ${plansPath}: {"name":"id","in":"cookie"} is not a parameter in path, query or header`,
    ],
    [
      'another variable in the path',
      { [`${plansPath}/{plan-id}`]: { get: listPlans } },
      `get of ${plansPath}/{plan-id}: {plan-id} needs a variable in bruno-collection.ts and postman-collection.ts, as {shortName} has`,
    ],
    [
      'a request body',
      { [plansPath]: { put: { ...listPlans, requestBody: { required: true } } } },
      `put of ${plansPath}: the request body is not "required": false`,
    ],
    ...[[], undefined].map((security): [string, object, string] => [
      `no credentials: ${JSON.stringify(security)}`,
      { [plansPath]: { get: { ...listPlans, security } } },
      'listPlans: its "security" has neither Basic credentials nor a bearer token',
    ]),
  ])('%s', (_, paths, problem) => {
    const document = JSON.stringify({ ...openapi, paths })
    expect(() => readCollection(document)).toThrow(`The collections don't support ${problem}.`)
  })
})

describe('in the built site', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collections-'))
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllEnvs()
  })
  afterAll(() => rm(folder, { recursive: true }))

  async function build(origin: string) {
    await buildSite(folder, origin)
    const read = async (file: string) => await readFile(join(folder, file))
    const start = 'collections/investment-plans'
    const environment = JSON.parse(String(await read(`${start}.postman_environment.json`))) as { values: Entry[] }
    return {
      postman: String(await read(`${start}.postman_collection.json`)),
      zip: await read(`${start}-bruno.zip`),
      baseUrl: environment.values.find(({ key }) => key === 'baseUrl')?.value,
    }
  }

  test('only the environment of Postman has the origin; the collections are the same, whatever it is', async () => {
    const { postman, zip, baseUrl } = await build('https://plans.example.org')
    expect(baseUrl).toBe('https://plans.example.org')
    const files = Object.fromEntries(Object.entries(unzipSync(zip)).map(([name, bytes]) => [name, strFromU8(bytes)]))
    expect(files['investment-plans/.gitignore']).toBe('.env\n')
    expect(Object.keys(files)).toContain('investment-plans/bruno.json')
    expect(Object.keys(files)).not.toContain('investment-plans/.env')
    expect([postman, ...Object.values(files)].join('')).not.toMatch(/https?:..(plans|catalog)\.example/)

    // Nor do the time and the time zone change a byte.
    vi.stubEnv('TZ', 'Pacific/Auckland')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
    const unnamed = await build('')
    expect(unnamed.baseUrl).toBe('')
    expect(unnamed.postman).toBe(postman)
    expect(unnamed.zip.equals(zip)).toBe(true)
  }, 120_000)
})

test.each([
  '',
  'https://api.real.test',
  'https://api.real.test:8443',
  'http://localhost:8787',
  'http://127.0.0.1',
  'http://[::1]:1',
])('SITE_ORIGIN can be %s', (origin) => expect(readSiteOrigin(origin)).toBe(origin))

test.each([
  'http://api.real.test',
  'http://localhost.real.test',
  'http://localhost:1@real.test',
  'https://api.real.test/',
  'https://id@api.real.test',
  'ftp://api.real.test',
  'api.real.test',
])('SITE_ORIGIN cannot be %s', (value) => expect(() => readSiteOrigin(value)).toThrow(`not ${value};`))

test('the token endpoint is on the same host as the other requests', () => {
  const elsewhere = text.replace('"tokenUrl": "/', '"tokenUrl": "https://elsewhere.example/')
  expect(() => readCollection(elsewhere)).toThrow(
    'The collections need a tokenUrl that is a path, not https://elsewhere.example/api/v3/partners/auth.',
  )
})
