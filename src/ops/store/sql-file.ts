// Reads a file of SQL, and runs SQL on a temporary database of SQLite.
import type { DatabaseSync } from 'node:sqlite'
import { abbreviate } from '../../abbreviate.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { readPieces } from './read-input.ts'

/**
 * Reads a file of SQL in pieces of whole statements. Each statement ends at the end of a line.
 * @throws UserError when the file can't be read.
 */
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

export type TemporaryDatabase = DatabaseSync

/** The functions that the CHECKs of migrations/*.sql call. */
const checkFunctions = new Set(['->>', 'glob', 'json_array_length', 'json_type', 'json_valid', 'length', 'lower'])

/**
 * Runs statements that create tables and indexes, and insert rows. Refuses all others: they could write files (ATTACH, VACUUM INTO),
 * never end, or run later. SQLite keeps the database in memory, and what exceeds its cache in a file without a name.
 * @param statements pieces of whole statements.
 * @param complaint begins the message when SQLite refuses a statement.
 * @returns the database, which then only answers queries.
 * @throws UserError when SQLite refuses a statement.
 */
export async function openTemporaryDatabase(
  statements: AsyncIterable<string>,
  complaint: string,
): Promise<TemporaryDatabase> {
  // Not imported at the top: other commands start quicker without it, and Node 24 warns of it.
  const { DatabaseSync: Database, constants } = await import('node:sqlite')
  const { SQLITE_OK, SQLITE_DENY, SQLITE_READ, SQLITE_FUNCTION, SQLITE_UPDATE, SQLITE_SELECT } = constants
  const { SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_REINDEX, SQLITE_INSERT } = constants
  const database = new Database('')
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
  database.exec('begin')
  permit(SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_REINDEX, SQLITE_INSERT)
  for await (const text of statements) {
    try {
      database.exec(text)
    } catch (error) {
      if (denied === undefined) refuseSql(complaint, error)
      throw new UserError(`${complaint}: it may have only tables, indexes and rows${denied}.`)
    }
  }
  permit(SQLITE_SELECT)
  return database
}

/**
 * Throws an error of SQLite as a UserError that begins with `complaint`, also the error for a number that JavaScript can't hold. Throws
 * any other error as it is.
 */
export function refuseSql(complaint: string, error: unknown): never {
  const isOfSqlite = ['ERR_SQLITE_ERROR', 'ERR_OUT_OF_RANGE'].includes(String(readPath(error, 'code')))
  throw isOfSqlite ? new UserError(`${complaint}: ${String(error)}.`) : error
}
