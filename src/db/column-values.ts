// Parts of INSERT and UPDATE in SQL, in which each value stands beside its column, and has its type. Not the query builder: the Worker
// runs these statements (see README.md of src/worker).
import { getTableColumns, isSQLWrapper, sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

/** A column whose values have a type. */
type ColumnOf<Value> = SQLiteColumn & { _: { data: Value } }

/** Values by the names of the columns in the schema. A literal without a spread must not have other names. */
export type ColumnValues<Row> = { [Name in keyof Row]: Row[Name] | SQL | ColumnOf<Row[Name]> }

export type Assignments<Table extends SQLiteTable> = Partial<ColumnValues<Table['$inferSelect']>>

/** `"state" = ?, …` for `update … set`, where SQL takes no table before a column. */
export function assign<Table extends SQLiteTable>(table: Table, values: Assignments<Table>): SQL {
  const assignments = listValues(table, values).map(({ name, value }) => sql`${name} = ${value}`)
  return sql.join(assignments, sql`, `)
}

/** `("state", …) select ?, …` for `insert into …`. A source or a condition may follow. */
export function selectValues<Table extends SQLiteTable>(
  table: Table,
  values: ColumnValues<Table['$inferInsert']>,
): SQL {
  const pairs = listValues(table, values)
  const names = pairs.map(({ name }) => name)
  const selected = pairs.map(({ value }) => value)
  return sql`(${sql.join(names, sql`, `)}) select ${sql.join(selected, sql`, `)}`
}

function listValues(table: SQLiteTable, values: object) {
  const columns: Record<string, SQLiteColumn> = getTableColumns(table)
  return Object.entries(values).map(([key, value]: [string, unknown]) => {
    const column = columns[key]
    if (column === undefined) throw new TypeError(`the table has no column ${key}`)
    return { name: sql.identifier(column.name), value: toSql(value, column) }
  })
}

function toSql(value: unknown, column: SQLiteColumn): SQL {
  if (isSQLWrapper(value)) return sql`${value}`
  // The HTTP API takes no null as a parameter.
  return value === null ? sql`null` : sql`${sql.param(value, column)}`
}
