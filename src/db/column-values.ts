// Writes parts of INSERT and UPDATE statements. TypeScript checks each value against the type of its column. Drizzle's query builder is not
// used here, because the Worker runs some of these statements, and its bundle lacks the builder (src/worker/README.md).
import { getTableColumns, isSQLWrapper, sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

type ColumnOf<Value> = SQLiteColumn & { _: { data: Value } }

/** For each column, a value of its type, another column of its type, or any SQL. */
export type ColumnValues<Row> = { [Name in keyof Row]: Row[Name] | SQL | ColumnOf<Row[Name]> }

export type Assignments<Table extends SQLiteTable> = Partial<ColumnValues<Table['$inferSelect']>>

/** Writes `"state" = ?, …`, to follow `update … set`. Writes no table before a column, because SQLite allows none there. */
export function writeAssignments<Table extends SQLiteTable>(table: Table, values: Assignments<Table>): SQL {
  const assignments = listColumnValues(table, values).map(({ name, value }) => sql`${name} = ${value}`)
  return sql.join(assignments, sql`, `)
}

/** Writes `("state", …) select ?, …`, to follow `insert into …`. The caller may add `from …` or `where …`. */
export function writeInsertValues<Table extends SQLiteTable>(
  table: Table,
  values: ColumnValues<Table['$inferInsert']>,
): SQL {
  const pairs = listColumnValues(table, values)
  const names = pairs.map(({ name }) => name)
  const selectedValues = pairs.map(({ value }) => value)
  return sql`(${sql.join(names, sql`, `)}) select ${sql.join(selectedValues, sql`, `)}`
}

function listColumnValues(table: SQLiteTable, values: object) {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table)
  return Object.entries(values).map(([key, value]: [string, unknown]) => {
    const column = columns[key]
    if (column === undefined) throw new TypeError(`the table has no column ${key}`)
    return { name: sql.identifier(column.name), value: writeValue(value, column) }
  })
}

function writeValue(value: unknown, column: SQLiteColumn): SQL {
  if (isSQLWrapper(value)) return sql`${value}`
  // The HTTP API takes no null as a parameter.
  return value === null ? sql`null` : sql`${sql.param(value, column)}`
}
