// SQL in a file, and in a temporary database of SQLite.
import type { SQLInputValue } from 'node:sqlite'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import { readPieces } from './read-input.ts'

/** Reads a file of SQL in pieces of whole statements: a statement ends at the end of a line. @throws UserError when it can't be read. */
export async function* readStatements(file: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readPieces(file, 'utf8')) {
    const read = `${rest}${String(text)}`
    const end = read.lastIndexOf(';\n') + 1
    yield read.slice(0, end)
    rest = read.slice(end)
  }
  yield rest
}

export type TemporaryDatabase = Awaited<ReturnType<typeof openTemporaryDatabase>>

/** The functions that the CHECKs of migrations/*.sql call. */
const checkFunctions = new Set(['->>', 'glob', 'json_array_length', 'json_type', 'json_valid', 'length', 'lower'])

/**
 * Runs statements that create tables and indexes, and insert rows. Refuses all others: they could write files (ATTACH, VACUUM INTO),
 * never end, or run later. SQLite keeps the database in memory, and what exceeds its cache in a file without a name.
 * @param statements pieces of whole statements.
 * @param complaint begins the message when SQLite refuses one, or a query.
 * @throws UserError when SQLite refuses one.
 */
export async function openTemporaryDatabase(statements: AsyncIterable<string>, complaint: string) {
  // Not at the top: other commands start quicker without it, and Node 24 warns of it.
  const { DatabaseSync, constants } = await import('node:sqlite')
  const { SQLITE_OK, SQLITE_DENY, SQLITE_READ, SQLITE_FUNCTION, SQLITE_UPDATE, SQLITE_SELECT } = constants
  const { SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_REINDEX, SQLITE_INSERT } = constants
  const database = new DatabaseSync('')
  let denied: string | undefined
  const permit = (...permitted: number[]) =>
    database.setAuthorizer((action, subject, detail) => {
      if (permitted.includes(action) || action === SQLITE_READ) return SQLITE_OK
      if (action === SQLITE_FUNCTION && checkFunctions.has(detail ?? '')) return SQLITE_OK
      // CREATE updates it. SQLite itself refuses a statement that updates it.
      if (action === SQLITE_UPDATE && subject === 'sqlite_master') return SQLITE_OK
      denied = subject === null ? '' : `: ${abbreviate(subject)}`
      return SQLITE_DENY
    })
  const attempt = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      const reason = denied === undefined ? String(error) : `it may have only tables, indexes and rows${denied}`
      throw new UserError(`${complaint}: ${reason}.`)
    }
  }
  database.exec('begin')
  permit(SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_REINDEX, SQLITE_INSERT)
  for await (const text of statements) attempt(() => database.exec(text))
  permit(SQLITE_SELECT)
  const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all()
  return {
    tables: new Set(tables.map(({ name }) => name)),
    prepare: (sql: string) => {
      const statement = attempt(() => database.prepare(sql))
      return {
        get: (...key: SQLInputValue[]) => attempt(() => statement.get(...key)),
        *iterate() {
          const rows = attempt(() => statement.iterate())
          for (let row = attempt(() => rows.next()); !row.done; row = attempt(() => rows.next())) yield row.value
        },
      }
    },
  }
}
