// Opens a D1 binding as the database of the command line.
import { readRows } from '../../src/db/database.ts'
import { createOperatorDatabase, type OperatorDatabase } from '../../src/db/operator-database.ts'

export function openOperatorDatabase(d1: Pick<D1DatabaseSession, 'prepare'>): OperatorDatabase {
  return createOperatorDatabase((query) => readRows(d1, query))
}
