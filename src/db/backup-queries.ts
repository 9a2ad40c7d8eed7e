// SQL that reads the whole database for a backup, and writes it back into an empty one.
import { sql, type SQL } from 'drizzle-orm'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Database } from './database.ts'
import {
  changeRecord,
  partnerSecrets,
  partners,
  planVersions,
  planViewability,
  plans,
  publicationEntries,
  publications,
} from './schema.ts'

export type Row = (string | number | null)[]

/** Rows of a table, in the order of `key`, which identifies a row. */
export interface BackupPart {
  table: string
  columns: readonly string[]
  key: readonly string[]
  condition: SQL
}

const everything = sql`true`
/** Staged rows have no effect, and a later publication deletes them. */
const isVisible = sql`state != 'staging'`
const ofVisible = sql`publication_id in (select id from publications where ${isVisible})`

/**
 * In the order of a restore: each row refers only to rows before it. The catalog comes before its partners, so that no
 * partner ever sees a part of it.
 */
export const backupParts: readonly BackupPart[] = [
  describePart(plans, ['id']),
  describePart(planViewability, ['country', 'plan_id']),
  describePart(publications, ['id'], isVisible),
  describePart(planVersions, ['publication_id', 'plan_id'], ofVisible),
  describePart(publicationEntries, ['id']),
  describePart(changeRecord, ['id']),
  describePart(partners, ['id']),
  describePart(partnerSecrets, ['id']),
]

/** Leaves out generated columns, which can't be inserted. */
function describePart(table: SQLiteTable, key: string[], condition = everything): BackupPart {
  const { name, columns } = getTableConfig(table)
  const names = columns.flatMap((column) => (column.generated === undefined ? column.name : []))
  return { table: name, columns: names, key, condition }
}

const textKeys = new Set(['country'])

/** Selects the rows that follow `last`, or the first ones. */
export function selectRowsAfter(
  db: Database,
  { table, columns, key, condition }: BackupPart,
  last: Row | undefined,
  limit: number,
): Promise<Row[]> {
  // The HTTP API takes parameters as text, which is larger than any number.
  const values = key.map((name) => {
    const value = last?.[columns.indexOf(name)]
    return textKeys.has(name) ? sql`${value}` : sql`cast(${value} as integer)`
  })
  const isLater = last ? sql`(${list(key)}) > (${sql.join(values, sql`, `)})` : everything
  return db.values<Row>(
    sql`select ${list(columns)} from ${sql.identifier(table)} where ${condition} and ${isLater}
      order by ${list(key)} limit ${sql.raw(String(limit))}`,
  )
}

/** Counts the rows of each part. */
export async function countRows(db: Database): Promise<number[]> {
  const counts = backupParts.map(
    ({ table, condition }) => sql`(select count(*) from ${sql.identifier(table)} where ${condition})`,
  )
  const [row = []] = await db.values<number[]>(sql`select ${sql.join(counts, sql`, `)}`)
  return row
}

/** Selects what every change of the database changes: the records of the catalog, and of partners and keys. */
export async function selectFingerprint(db: Database): Promise<string> {
  const rows = await db.values<Row>(
    sql`select (select catalog || ' ' || revision from catalog_revision), (select max(id) from change_record),
        (select max(id) from publication_entries), count(*)
      from publications where ${isVisible}`,
  )
  return JSON.stringify(rows)
}

/** Takes the place of the catalog's ID until a restore is complete. */
const markerPrefix = 'restoring '

/** Whether the ID of a catalog says that a restore is not complete. */
export function isRestoring(catalog: string): boolean {
  return catalog.startsWith(markerPrefix)
}

/**
 * Reserves an empty database for a restore, with one statement.
 * @param backup identifies what is restored.
 * @returns false when the database is neither empty nor reserved for this backup.
 */
export async function reserveEmptyDatabase(db: Database, backup: string, revision: number): Promise<boolean> {
  const marker = `${markerPrefix}${backup}`
  const isEmpty = backupParts.map(
    ({ table, condition }) => sql`not exists (select 1 from ${sql.identifier(table)} where ${condition})`,
  )
  await db.run(
    sql`update catalog_revision set catalog = ${marker}, revision = ${revision} where catalog_revision.catalog not glob 'restoring *' and ${sql.join(isEmpty, sql` and `)}`,
  )
  const rows = await db.values<Row>(sql`select 1 from catalog_revision where catalog_revision.catalog = ${marker}`)
  return rows.length > 0
}

/** Deletes the rows that nobody published: a restored row may have the same ID. */
export async function deleteStagedRows(db: Database): Promise<void> {
  await db.run(sql`delete from plan_versions where not (${ofVisible})`)
  await db.run(sql`delete from publications where not (${isVisible})`)
}

/** Inserts the rows that are not there yet: a restore may run again. One statement. */
export async function insertRows(db: Database, { table, columns, key }: BackupPart, rows: string): Promise<void> {
  const values = columns.map((_, index) => sql.raw(`value ->> ${index}`))
  const isSame = key.map((name) => sql`${sql.identifier(name)} = ${sql.raw(`value ->> ${columns.indexOf(name)}`)}`)
  await db.run(
    sql`insert into ${sql.identifier(table)} (${list(columns)})
      select ${sql.join(values, sql`, `)} from json_each(${rows})
      where not exists (select 1 from ${sql.identifier(table)} where ${sql.join(isSame, sql` and `)})
      order by json_each.key`,
  )
}

/** Gives a restored catalog its own ID again: the restore is complete. */
export async function releaseDatabase(db: Database, backup: string, catalog: string): Promise<void> {
  const marker = `${markerPrefix}${backup}`
  await db.run(sql`update catalog_revision set catalog = ${catalog} where catalog_revision.catalog = ${marker}`)
}

function list(names: readonly string[]): SQL {
  return sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  )
}
