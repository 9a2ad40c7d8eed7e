// Reads a file of SQL, and runs SQL on a temporary database of SQLite.
import type { DatabaseSync } from 'node:sqlite'
import { abbreviate } from '../../abbreviate.ts'
import { readPath } from '../../json.ts'
import { UserError } from '../shared/user-error.ts'
import { readPieces } from './read-input.ts'

/** Reads a file of SQL in pieces of whole statements. Each statement must end a line. @throws UserError when it can't be read. */
export async function* readStatements(file: string): AsyncGenerator<string> {
  let unfinished = ''
  for await (const piece of readPieces(file, 'utf8')) {
    const text = `${unfinished}${String(piece)}`
    const end = text.lastIndexOf(';\n') + 1
    yield text.slice(0, end)
    unfinished = text.slice(end)
  }
  yield unfinished
}

export type TemporaryDatabase = DatabaseSync

/** The SQL functions that the CHECKs of migrations/*.sql call. */
const checkFunctions = new Set(['->>', 'glob', 'json_array_length', 'json_type', 'json_valid', 'length', 'lower'])

/**
 * Makes a temporary database from statements that create tables and indexes, and insert rows. Refuses all other statements: they could
 * write files (ATTACH, VACUUM INTO), never end, or create triggers. The returned database only answers queries.
 * @throws UserError that begins with `complaint`, such as `The database is damaged`, when a statement is refused or fails; also any error of `statements`.
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
  let deniedClause: string | undefined
  // SQLite asks the authorizer before each action of a statement. A function has its name in `detail`. A refusal sets `deniedClause`.
  const permitOnly = (...actions: number[]) =>
    database.setAuthorizer((action, subject, detail) => {
      if (actions.includes(action) || action === SQLITE_READ) return SQLITE_OK
      if (action === SQLITE_FUNCTION && checkFunctions.has(detail ?? '')) return SQLITE_OK
      // CREATE updates sqlite_master. SQLite itself refuses an UPDATE of sqlite_master.
      if (action === SQLITE_UPDATE && subject === 'sqlite_master') return SQLITE_OK
      deniedClause = subject === null ? '' : `; a statement about ${abbreviate(subject)} is refused`
      return SQLITE_DENY
    })
  database.exec('begin')
  permitOnly(SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_REINDEX, SQLITE_INSERT)
  for await (const text of statements) {
    try {
      database.exec(text)
    } catch (error) {
      if (deniedClause === undefined) throwAsSqlDefect(complaint, error)
      throw new UserError(`${complaint}: it may have only tables, indexes and rows${deniedClause}.`)
    }
  }
  permitOnly(SQLITE_SELECT)
  return database
}

/** Throws an error of SQLite as a UserError that begins with `complaint`. Throws any other error unchanged. */
export function throwAsSqlDefect(complaint: string, error: unknown): never {
  // ERR_OUT_OF_RANGE: a number in the database is too large for JavaScript.
  const isOfSqlite = ['ERR_SQLITE_ERROR', 'ERR_OUT_OF_RANGE'].includes(String(readPath(error, 'code')))
  throw isOfSqlite ? new UserError(`${complaint}: ${String(error)}.`) : error
}
