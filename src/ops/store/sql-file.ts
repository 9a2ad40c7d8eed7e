// SQL in a file, and in a temporary database of SQLite.
import { UserError } from '../shared/user-error.ts'
import { readPieces } from './read-input.ts'

/** Reads a file of SQL in pieces of whole statements: each ends with a line. @throws UserError when it can't be read. */
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

/**
 * Runs statements in a database of its own. SQLite keeps it in memory, and beyond its cache in a file without a name.
 * @param statements pieces of whole statements.
 * @throws UserError when SQLite refuses one.
 */
export async function openTemporaryDatabase(statements: AsyncIterable<string>) {
  // Not at the top: other commands start quicker without it, and earlier versions of Node warn of it.
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync('')
  database.exec('begin')
  for await (const text of statements) {
    try {
      database.exec(text)
    } catch (error) {
      throw new UserError(`The copy is no SQL of SQLite, or damaged: ${String(error)}.`)
    }
  }
  const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all()
  return { tables: new Set(tables.map(({ name }) => name)), prepare: (sql: string) => database.prepare(sql) }
}
