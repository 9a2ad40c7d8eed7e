// D1's interface over node:sqlite, and KV as a Map, with the methods that the command line and its tests call: a command needs no
// runtime for its tests. test/ops/store/conformance.ci.test.ts holds them to what the local runtime does.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { afterAll } from 'vitest'
import { createKv } from '../../support/memory-kv.ts'

export type Bindings = Pick<Env, 'DB' | 'CATALOG_CACHE'>

const folder = resolve(import.meta.dirname, '../../../migrations')

export const migrationFiles = readdirSync(folder).toSorted()

/** The texts of the migrations, in order. */
export const migrations = migrationFiles.map((file) => readFileSync(join(folder, file), 'utf8'))

/** Lists the migrations as wrangler does. */
export async function recordMigrations({ DB }: Bindings): Promise<void> {
  await DB.prepare('create table d1_migrations (name text)').run()
  for (const file of migrationFiles) await DB.prepare('insert into d1_migrations values (?)').bind(file).run()
}

/** D1's: bytes of a text or a row, and parameters. */
const limits = { length: 2_000_000, variableNumber: 100 }

/** Opens a migrated database and an empty namespace, and closes them after the last test of a file. */
export function useMemoryBindings(): () => Bindings {
  const { bindings, close } = openMemoryBindings()
  afterAll(close)
  return () => bindings
}

export function openMemoryBindings() {
  const database = new DatabaseSync(':memory:', { limits })
  // A fake clock is SQL's, too.
  database.function('unixepoch', { varargs: true }, (...args) =>
    args.includes('subsec') ? Date.now() / 1000 : Math.floor(Date.now() / 1000),
  )
  for (const migration of migrations) database.exec(migration)
  const bindings: Bindings = { DB: createD1(database), CATALOG_CACHE: createKv() }
  return { bindings, close: () => database.close() }
}

interface Statement {
  bind: (...params: SQLInputValue[]) => Statement
  all: () => Promise<object>
  run: () => Promise<object>
  raw: (options?: { columnNames?: boolean }) => Promise<unknown[]>
  first: (column: string) => Promise<unknown>
  /** As `all`, and nothing else runs in between. */
  allSync: () => { results: Record<string, unknown>[] }
}

function createD1(database: DatabaseSync): D1Database {
  const prepare = (sql: string, params: SQLInputValue[] = []): Statement => {
    const execute = <T>(read: (statement: StatementSync) => T): T => {
      try {
        const statement = database.prepare(sql)
        // SQLite ignores what follows the first statement.
        if (statement.sourceSQL.length < sql.trimEnd().length) throw new Error('more than one statement')
        return read(statement)
      } catch (error) {
        throw describeError(error)
      }
    }
    const allSync = () => ({
      success: true,
      meta: {},
      results: execute((statement) => statement.all(...params)),
    })
    return {
      bind: (...values) => prepare(sql, values),
      all: async () => allSync(),
      run: async () => allSync(),
      first: async (column) => allSync().results[0]?.[column] ?? null,
      raw: async ({ columnNames = false } = {}) =>
        execute((statement) => {
          statement.setReturnArrays(true)
          const rows: unknown[] = statement.all(...params)
          return columnNames ? [statement.columns().map(({ name }) => name), ...rows] : rows
        }),
      allSync,
    }
  }
  const batch = async (statements: Statement[]) => {
    database.exec('begin')
    try {
      const results = statements.map(({ allSync }) => allSync())
      database.exec('commit')
      return results
    } catch (error) {
      database.exec('rollback')
      throw error
    }
  }
  return { prepare, batch, exec: (sql: string) => prepare(sql).run() } as never
}

const codeNames = new Map([
  [18, 'SQLITE_TOOBIG'],
  [19, 'SQLITE_CONSTRAINT'],
])

/** D1 adds the name of SQLite's error, and repeats the text in the cause. */
export function describeError(error: unknown): Error {
  const { message, errcode = 1 } = error as Error & { errcode?: number }
  // The lowest byte of an extended code is the primary one.
  const text = `${message}: ${codeNames.get(errcode & 0xff) ?? 'SQLITE_ERROR'}`
  return new Error(`D1_ERROR: ${text}`, { cause: new Error(text) })
}
