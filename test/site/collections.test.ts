import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { strFromU8, unzipSync } from 'fflate'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildSite } from '../../src/site/build-site.ts'
import { writeBrunoCollection } from '../../src/site/collections/bruno-collection.ts'
import { readCollection } from '../../src/site/collections/collection-requests.ts'
import { writePostmanCollection, writePostmanEnvironment } from '../../src/site/collections/postman-collection.ts'

interface Entry {
  key: string
  value: string
  disabled?: boolean
}

interface PostmanCollection {
  info: { schema: string }
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
      const call = `${method.toUpperCase()} {{baseUrl}}${path.replace('{shortName}', '{{shortName}}')}`
      // The second request sends an ETag.
      return '304' in responses ? [call, call] : [call]
    }),
  )

  test('in Postman', () => {
    const { info, item } = readPostman(text)
    expect(item.map(({ request }) => `${request.method} ${request.url.raw}`)).toEqual(operations)
    expect(info.schema).toBe('https://schema.getpostman.com/json/collection/v2.1.0/collection.json')
  })

  test('in Bruno', () => {
    const files = Object.values(writeBrunoCollection(readCollection(text)))
    const calls = files.flatMap((file) => {
      const [, method, url] = /^(\w+) \{\n  url: (.*)$/m.exec(file) ?? []
      return method === undefined ? [] : [`${method.toUpperCase()} ${url}`]
    })
    expect(calls).toEqual(operations)
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
  expect(files['listPlans.bru']).toContain("bru.setVar('listPlansEtag'")
  expect(files['listPlans-conditional.bru']).toContain('\n  If-None-Match: {{listPlansEtag}}\n')
})

test('the environment of Postman has no values, and hides the secret', () => {
  const { values } = JSON.parse(writePostmanEnvironment(readCollection(text))) as {
    values: (Entry & { type: string })[]
  }
  expect(values.map(({ key, value, type }) => [key, value, type])).toEqual([
    ['clientId', '', 'default'],
    ['clientSecret', '', 'secret'],
    ['shortName', '', 'default'],
  ])
})

describe('in the built site', () => {
  let folder: string
  const origin = 'https://plans.example.org'
  const read = async (file: string) => await readFile(join(folder, 'collections/investment-plans') + file)
  const unzip = async () => Object.entries(unzipSync(await read('-bruno.zip')))

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'collections-'))
    vi.stubEnv('SITE_ORIGIN', origin)
    await buildSite(folder)
    vi.unstubAllEnvs()
  }, 60_000)
  afterAll(() => rm(folder, { recursive: true }))

  test('both collections call the origin of the site', async () => {
    const postman = JSON.parse(String(await read('.postman_collection.json'))) as { variable: Entry[] }
    expect(postman.variable).toEqual([{ key: 'baseUrl', value: origin }])
    const files = Object.fromEntries((await unzip()).map(([name, bytes]) => [name, strFromU8(bytes)]))
    expect(files['investment-plans/collection.bru']).toContain(`\n  baseUrl: ${origin}\n`)
    expect(files['investment-plans/.gitignore']).toBe('.env\n')
    expect(Object.keys(files)).toContain('investment-plans/bruno.json')
    expect(Object.keys(files)).not.toContain('investment-plans/.env')
  })

  test('the same files give the same zip, whatever the time and the time zone', async () => {
    const before = await read('-bruno.zip')
    vi.stubEnv('SITE_ORIGIN', origin)
    vi.stubEnv('TZ', 'Pacific/Auckland')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
    await buildSite(folder)
    vi.useRealTimers()
    vi.unstubAllEnvs()
    expect((await read('-bruno.zip')).equals(before)).toBe(true)
  }, 60_000)
})
