// D1: databases and queries.
import { randomUUID } from 'node:crypto'
import { isJsonObject } from '../../src/json.ts'
import { Dropped, isFirstPage, readJson, Refusal, type Call, type Routes } from './api.ts'
import { splitOnServer } from './split-on-server.ts'
import type { Stores } from './stores.ts'

interface Query {
  sql: string
  params?: string[]
}

/** Drops the connection at a statement of SQL. */
export interface Outage {
  /** The number of statements before it. */
  after: number
  /** Whether the statement has its effect, so that only the answer is lost. */
  hasEffect: boolean
  /** Whether every later call fails, too. */
  isPermanent: boolean
}

interface Database {
  uuid: string
  name: string
  version: 'production'
  created_at: string
  primary_location_hint: unknown
  jurisdiction: unknown
  read_replication: { mode: string }
}

/** The databases, and how they fail. */
export interface D1Account {
  databases: Map<string, Database>
  /** Set it before a command, and to undefined to end it. */
  outage: Outage | undefined
  /** The statements of SQL so far. */
  statements: number
}

export function createD1(d1: D1Account, stores: Stores): Routes {
  const find = (idOrName: string): Database => {
    const database = d1.databases.get(idOrName) ?? [...d1.databases.values()].find(({ name }) => name === idOrName)
    if (database) return database
    throw new Refusal(404, 7404, `The database ${idOrName} could not be found`)
  }

  const create = async (call: Call) => {
    const { name, primary_location_hint, jurisdiction } = readJson(call)
    if (typeof name !== 'string') throw new Refusal(400, 7400, 'The name is missing')
    if (![undefined, 'eu', 'fedramp', 'us'].includes(jurisdiction as string)) {
      throw new Refusal(400, 7400, 'jurisdiction must be one of eu, fedramp, us')
    }
    if ([...d1.databases.values()].some((database) => database.name === name)) {
      throw new Refusal(400, 7502, `Database with name '${name}' already exists`)
    }
    const database = addDatabase(d1, randomUUID(), name)
    Object.assign(database, { primary_location_hint, jurisdiction: jurisdiction ?? null })
    await stores.addDatabase(database.uuid)
    return describe(database)
  }

  /** Runs a batch, or the statements of one text, each alone: the API doesn't document a transaction. */
  const query = async (call: Call, id: string): Promise<object[]> => {
    const body = readJson(call)
    const queries = Array.isArray(body['batch']) ? (body['batch'] as Query[]) : [body as unknown as Query]
    // Only `wrangler d1 migrations apply` sends several statements in one text.
    const parts = await Promise.all(
      queries.map(async (one) => (one.params ? [one] : (await splitOnServer(one.sql)).map((sql) => ({ sql })))),
    )
    const split = parts.flat()
    const db = await open(id)
    const results = []
    for (const one of split) results.push(await runStatement(() => prepare(db, one).all()))
    return results
  }

  const raw = async (call: Call, id: string): Promise<object[]> => {
    const one = readJson(call) as unknown as Query
    const db = await open(id)
    const [columns, ...rows] = await runStatement(() => prepare(db, one).raw({ columnNames: true }))
    // Cloudflare's API client calls both optional.
    const results = columns.length === 0 ? {} : { columns, rows }
    return [{ success: true, meta: {}, results }]
  }

  const open = (id: string) => stores.openDatabase(find(id).uuid)

  const runStatement = async <T>(run: () => Promise<T>): Promise<T> => {
    const { outage } = d1
    const number = d1.statements++
    if (outage === undefined || number < outage.after) return run()
    if (number === outage.after && outage.hasEffect) await run()
    if (number === outage.after || outage.isPermanent) throw new Dropped()
    return run()
  }

  const replicate = (call: Call, id: string) => {
    const { read_replication: replication } = readJson(call)
    if (!isJsonObject(replication) || !/^(auto|disabled)$/.test(String(replication['mode']))) {
      throw new Refusal(400, 7400, 'read_replication.mode must be auto or disabled')
    }
    const database = find(id)
    database.read_replication = { mode: String(replication['mode']) }
    return describe(database)
  }

  return {
    'POST /d1/database': create,
    // The first page has all databases.
    'GET /d1/database': (call) => (isFirstPage(call) ? [...d1.databases.values()].map(describe) : []),
    'GET /d1/database/:id': (_, id = '') => describe(find(id)),
    'PUT /d1/database/:id': (call, id = '') => replicate(call, id),
    'POST /d1/database/:id/query': (call, id = '') => query(call, id),
    'POST /d1/database/:id/raw': (call, id = '') => raw(call, id),
  }
}

export function addDatabase({ databases }: D1Account, uuid: string, name: string): Database {
  const database: Database = {
    uuid,
    name,
    version: 'production',
    created_at: new Date().toISOString(),
    primary_location_hint: undefined,
    jurisdiction: null,
    read_replication: { mode: 'disabled' },
  }
  databases.set(uuid, database)
  return database
}

/** Returns a database as the API shows it. */
function describe({ primary_location_hint: hint, ...database }: Database) {
  const region = typeof hint === 'string' ? hint.toUpperCase() : 'ENAM'
  return { ...database, created_in_region: region, running_in_region: region, num_tables: 0, file_size: 0 }
}

/** D1's limit for one parameter. */
const maxParameterBytes = 2_000_000

function prepare(db: D1Database, { sql, params = [] }: Query): D1PreparedStatement {
  // The API documents parameters as strings.
  if (params.some((param) => typeof param !== 'string')) throw new Refusal(400, 7400, 'Expected string')
  // The local runtime allows more than twice as much.
  if (params.some((param) => Buffer.byteLength(param) > maxParameterBytes)) {
    throw new Refusal(400, 7500, 'string or blob too big: SQLITE_TOOBIG')
  }
  return db.prepare(sql).bind(...params)
}
