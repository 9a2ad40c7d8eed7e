import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { databaseExperiments, type DatabaseLab } from '../../../src/ops/proof/database-experiments.ts'
import { decide, type Finding } from '../../../src/ops/proof/experiment.ts'
import { CloudflareError } from '../../../src/ops/store/failure.ts'

interface Body {
  sql?: string
  params?: string[]
  batch?: { sql: string }[]
}

interface Behaviour {
  isTransactional?: boolean
  maxBytes?: number
  weakToken?: string
  /** Answers instead of the database, or throws. */
  answer?: (body: Body, kind: string) => unknown
}

const [batch, text, splitter, largest, value, , copy, weak] = databaseExperiments

/** A database of SQLite behind the two calls of D1's HTTP API. */
function openLab({ isTransactional = true, maxBytes = 2_000_000, weakToken, answer }: Behaviour = {}): DatabaseLab {
  const db = new DatabaseSync(':memory:')
  const run = ({ sql = '', params = [], batch: statements }: Body) => {
    if (params.some(({ length }) => length > maxBytes)) throw new Error('string or blob too big: SQLITE_TOOBIG')
    if (statements === undefined && (params.length > 0 || /^\s*select|^with/i.test(sql)))
      return db.prepare(sql).all(...params)
    for (const one of statements ?? [{ sql }]) db.exec(one.sql)
    return undefined
  }
  const call: DatabaseLab['call'] = async (_, path, body) => {
    const [kind = '', given] = [path.split('/').at(-1), body as Body]
    const instead = answer?.(given, kind)
    if (instead !== undefined) return instead
    const isMany = given.batch !== undefined || /;\s*insert/.test(given.sql ?? '')
    try {
      if (isTransactional && isMany) db.exec('begin')
      const rows = run(given)?.map((row) => Object.values(row))
      if (db.isTransaction) db.exec('commit')
      return [{ meta: { duration: 12 }, results: rows ? { columns: [], rows } : {} }]
    } catch (error) {
      if (db.isTransaction) db.exec('rollback')
      throw new CloudflareError(`Cloudflare answered 400: ${String(error)}.`)
    }
  }
  return { env: 'proof', call, path: '/d1/database/1', weakToken }
}

async function find(experiment = batch, behaviour?: Behaviour): Promise<Pick<Finding, 'verdict' | 'found'>> {
  if (experiment === undefined) throw new Error('there is no such experiment')
  const { verdict, found } = await decide(experiment, openLab(behaviour))
  return { verdict, found }
}

const failed = { verdict: 'failed', found: expect.any(String) }
/** Throws for the statements that match. */
const failAt = (pattern: RegExp, error: Error) => (body: Body) => {
  if (pattern.test(JSON.stringify(body))) throw error
  return undefined
}
const busy = new CloudflareError('Cloudflare answered 429.', { kind: 'busy' })

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test.each([
  ['a batch', batch],
  ['one text', text],
])('%s is a transaction only if nothing is left of one that failed at its second statement', async (_, experiment) => {
  expect(await find(experiment)).toEqual({ verdict: 'as assumed', found: 'Everything was rolled back.' })
  const differing = await find(experiment, { isTransactional: false })
  expect(differing).toEqual({ verdict: 'differs', found: '1 row was left.' })
  for (const values of ['(1)', '(3)']) {
    const pattern = new RegExp(`values \\${values.slice(0, -1)}\\)`)
    for (const error of [busy, new CloudflareError('Cloudflare answered 400: no such API.')])
      expect(await find(experiment, { answer: failAt(pattern, error) })).toEqual(failed)
  }
  const ignoring = (body: Body) => (/insert/.test(JSON.stringify(body)) ? [] : undefined)
  expect(await find(experiment, { answer: ignoring })).toEqual({
    verdict: 'failed',
    found: expect.stringContaining('Two inserts that are right left 0 rows.'),
  })
})

test('a text that the splitter accepts has made its table and trigger', async () => {
  expect(await find(splitter)).toEqual({ verdict: 'answered', found: 'Refused: none.' })
  const refusing = failAt(/proof_case/, new CloudflareError('Cloudflare answered 400: incomplete input.'))
  expect(await find(splitter, { answer: refusing })).toMatchObject({ found: 'Refused: CASE in a trigger.' })
  const losing = ({ sql = '' }: Body) => (sql.includes('proof_lower') ? [] : undefined)
  expect(await find(splitter, { answer: losing })).toMatchObject({
    found: 'Refused: none. Accepted, but not made: BEGIN in lower case.',
  })
  expect(await find(splitter, { answer: failAt(/proof_case/, busy) })).toEqual(failed)
})

test('an answer arrives with all its characters', async () => {
  const answerWith = (characters: (bytes: number) => number) => (body: Body, kind: string) => {
    const count = Number(/i < (\d+)/.exec(body.sql ?? '')?.[1])
    if (kind === 'raw') return [{ results: { rows: [['x'.repeat(characters(count * 1_000_000))]] } }]
    return undefined
  }
  const all = await find(largest, { answer: answerWith((bytes) => bytes) })
  expect(all).toEqual({ verdict: 'as assumed', found: '16 MB arrived. More was not tried.' })
  expect(await find(largest, { answer: answerWith((bytes) => Math.min(bytes, 2_500_000)) })).toEqual({
    verdict: 'as assumed',
    found: '2 MB arrived, 4 MB did not: its rows have 2500000 characters.',
  })
  expect(await find(largest, { answer: answerWith(() => 5) })).toMatchObject({ verdict: 'differs' })
  expect(await find(largest, { answer: failAt(/i < 4/, busy) })).toEqual(failed)
})

test('a value of more than 2,000,000 bytes is refused, and a smaller one is stored whole', async () => {
  const found = '1,990,000 bytes: stored; 2,010,000: refused (Cloudflare answered 400: '
  expect(await find(value)).toEqual({ verdict: 'as assumed', found: expect.stringContaining(found) })
  const lax = await find(value, { maxBytes: 4_000_000 })
  expect(lax).toEqual({ verdict: 'differs', found: '1,990,000 bytes: stored; 2,010,000: stored.' })
  expect(await find(value, { maxBytes: 1_000_000 })).toMatchObject({ verdict: 'differs' })
  expect(await find(value, { answer: failAt(/^.{2000000}/, busy) })).toEqual(failed)
})

test('one statement copies 10,000 rows, or the assumption differs', async () => {
  const found = 'It took 12 ms; then there were 20000 rows.'
  expect(await find(copy)).toEqual({ verdict: 'as assumed', found })
  const exceeding = new CloudflareError('D1 exceeded its CPU limit.', { kind: 'exhausted' })
  const differing = await find(copy, { answer: failAt(/select id \+/, exceeding) })
  expect(differing).toEqual({ verdict: 'differs', found: exceeding.message })
  expect(await find(copy, { answer: failAt(/recursive/, exceeding) })).toEqual(failed)
})

/** @param statuses of the control, and of the query. */
function findWeak(statuses: number[], weakToken?: string) {
  vi.stubEnv('CLOUDFLARE_API_TOKEN', 'strong')
  vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', 'a'.repeat(32))
  vi.spyOn(globalThis, 'fetch').mockImplementation(() => {
    const status = statuses.shift() ?? 500
    return Promise.resolve(Response.json({ success: status === 200, errors: [], result: [] }, { status }))
  })
  return find(weak, weakToken === undefined ? {} : { weakToken })
}

test.each([
  [[], undefined, 'not tried', 'PROOF_WEAK_TOKEN is not set.'],
  [[200, 403], 'weak', 'as assumed', 'Cloudflare refuses the token (403): it gave no reason.'],
  [[200, 400], 'weak', 'differs', 'Cloudflare answered 400'],
  [[200, 200], 'weak', 'differs', 'It was allowed'],
  [[403], 'weak', 'not tried', 'PROOF_WEAK_TOKEN must be valid, and may read Workers Scripts.'],
  [[], 'a b', 'failed', 'PROOF_WEAK_TOKEN has characters'],
])(
  'a weak token must read Workers Scripts before its refusal counts: %j, %s',
  async (statuses, token, verdict, found) => {
    expect(await findWeak(statuses, token)).toEqual({ verdict, found: expect.stringContaining(found) })
    expect(process.env['CLOUDFLARE_API_TOKEN']).toBe('strong')
  },
)
