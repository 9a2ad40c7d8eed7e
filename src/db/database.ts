// The handles on D1: for the Worker, and for the command line.
import type { SQL } from 'drizzle-orm'
import { CasingCache } from 'drizzle-orm/casing'
import { drizzle } from 'drizzle-orm/d1'
import type { BaseSQLiteDatabase } from 'drizzle-orm/sqlite-core'

/** For the command line: D1 as a Worker's binding, or through Cloudflare's HTTP API. */
export type Database = BaseSQLiteDatabase<'async', unknown>

/** Cheap. Make one per request and never share it between requests. */
export function openDatabase(d1: D1Database): Database {
  return drizzle(d1)
}

/** For the Worker: runs SQL that is written out. Drizzle's query builders would be a third of its bundle. */
export interface Queries {
  /** @throws StorageError when D1 fails */
  values: <Row extends unknown[]>(query: SQL) => Promise<Row[]>
  /** For a statement without rows. @throws StorageError when D1 fails */
  run: (query: SQL) => Promise<unknown>
}

type QueriedD1 = Pick<D1DatabaseSession, 'prepare'>

const escape = (text: string) => `"${text}"`
const config = { casing: new CasingCache(), escapeName: escape, escapeParam: () => '?', escapeString: escape }

/** Cheap, as `openDatabase`. */
export function openQueries(d1: QueriedD1): Queries {
  const values: Queries['values'] = async (query) => readRows(d1, query.toQuery(config))
  return { values, run: values }
}

/** @throws StorageError when D1 fails */
export async function readRows<Row extends unknown[]>(d1: QueriedD1, { sql, params }: Statement): Promise<Row[]> {
  // Outside: an error here is a bug.
  const statement = d1.prepare(sql).bind(...params)
  try {
    return await statement.raw<Row>()
  } catch (error) {
    throw new StorageError(error instanceof Error ? error.message : 'D1 failed')
  }
}

/** D1 failed or was too slow. The message is D1's own, and holds no SQL parameter. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}

/** SQL with a `?` for each parameter. */
export interface Statement {
  sql: string
  params: unknown[]
}

/** Whether the message of the innermost error contains `text`. The others quote parameters, such as a note of the user. */
export function isCausedBy(error: unknown, text: string | RegExp): boolean {
  return findCause(error).search(text) !== -1
}

/** @returns the message of the innermost error. */
export function findCause(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return error.cause instanceof Error ? findCause(error.cause) : error.message
}
