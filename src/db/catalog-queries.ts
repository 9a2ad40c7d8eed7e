// SQL of the operators' command line: writes the catalog and reads it back. The Worker doesn't use it.
import {
  and,
  asc,
  eq,
  getTableColumns,
  getTableName,
  inArray,
  or,
  sql,
  type InferInsertModel,
  type SQL,
} from 'drizzle-orm'
import { getTableConfig, SQLiteAsyncDialect, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import type { Database, Statement } from './database.ts'
import { isViewableIn, planFields, withLookups } from './plan-queries.ts'
import {
  catalogStaging,
  catalogRevision,
  fundManagers,
  planCategories,
  planMinimums,
  plans,
  planTypes,
  planViewability,
  riskLevels,
} from './schema.ts'

/** Selects the whole catalog, or the plans that are viewable in a country, in ascending order of ID. */
export function selectCatalog(db: Database, country?: string): Promise<CatalogPlan[]> {
  return selectCatalogWhere(db, country === undefined ? undefined : isViewableIn(country))
}

/** @param name the plan's identifier, or its ID if no plan has this identifier. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const id = /^[0-9]{1,15}$/.test(name) ? eq(plans.id, Number(name)) : undefined
  const found = await selectCatalogWhere(db, or(eq(plans.identifier, name), id))
  return found.find(({ identifier }) => identifier === name) ?? found[0]
}

function selectCatalogWhere(db: Database, condition: SQL | undefined): Promise<CatalogPlan[]> {
  return withLookups(
    db
      .select({ ...planFields, viewableIn })
      .from(plans)
      .$dynamic(),
  )
    .where(condition)
    .orderBy(asc(plans.id))
}

const viewableIn = sql`(select json_group_array(${planViewability.country} order by ${planViewability.country})
  from ${planViewability} where ${planViewability.planId} = ${plans.id})`.mapWith((json: string): string[] =>
  JSON.parse(json),
)

/**
 * The statements of a change must run in one transaction. They fail on `catalog_revision.revision` when `revision` is
 * no longer the catalog's revision.
 */
export function showPlanStatements(db: Database, revision: number, planId: number, country: string): Statement[] {
  const row = db.insert(planViewability).values({ planId, country }).onConflictDoNothing()
  return [raiseRevisionStatement(revision), row.toSQL()]
}

export function hidePlanStatements(db: Database, revision: number, planId: number, country: string): Statement[] {
  const isRow = and(eq(planViewability.planId, planId), eq(planViewability.country, country))
  return [raiseRevisionStatement(revision), db.delete(planViewability).where(isRow).toSQL()]
}

/** @param note why the plan takes no new investment; null if it does. */
export function updateInvestableStatements(
  db: Database,
  revision: number,
  planId: number,
  note: string | null,
): Statement[] {
  const values = { isInvestable: note === null, nonInvestableNote: note ?? sql`null` }
  return [raiseRevisionStatement(revision), db.update(plans).set(values).where(eq(plans.id, planId)).toSQL()]
}

/** A revision is at least the current time, so that a restored database never uses one twice. */
const nextRevision = sql`max(revision + 1, cast(unixepoch('now', 'subsec') * 1000 as integer))`

/** The null violates the NOT NULL constraint of `catalog_revision.revision` when the catalog has another revision. */
function raiseRevisionStatement(revision: number): Statement {
  return toStatement(
    sql`update ${catalogRevision} set revision = case revision when ${revision} then ${nextRevision} end`,
  )
}

/** Outdates every cached plan list, without a change of the catalog. */
export function outdateListsStatement(): Statement {
  return toStatement(sql`update ${catalogRevision} set revision = ${nextRevision}`)
}

export interface CatalogChange {
  /** The revision of the catalog that the change is based on. */
  revision: number
  /** Plans to add. A plan with the ID of a stored plan replaces all of its fields. */
  put: readonly CatalogPlan[]
  removedIds: readonly number[]
}

/** Every change of the catalog raises it. */
export async function selectCatalogRevision(db: Database): Promise<number> {
  const [row] = await db.select({ revision: catalogRevision.revision }).from(catalogRevision)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return row.revision
}

/**
 * The `stage` statements may run one by one; they change nothing that partners or operators read. The `commit` statements
 * must run in one transaction. They make the change, and fail on `catalog_revision.revision` when `change.revision` is
 * no longer the catalog's revision. They also delete the staged rows of all other imports, which can no longer succeed.
 */
export function importStatements(
  importId: string,
  { revision, put, removedIds }: CatalogChange,
): { stage: Statement[]; commit: Statement[] } {
  const rowsByTable: [SQLiteTable, object[]][] = [
    [planCategories, lookupRows(put, 'category')],
    [planTypes, lookupRows(put, 'planType')],
    [riskLevels, lookupRows(put, 'productRiskLevel')],
    [fundManagers, lookupRows(put, 'fundManager')],
    [plans, put.map(toPlanRow)],
    [planMinimums, put.flatMap(toMinimumRows)],
    [planViewability, put.flatMap(toViewabilityRows)],
  ]
  const removedRows = removedIds.map((id) => ({ id }))
  const stageRows = (target: string, rows: object[]) =>
    chunk(rows.map((row) => JSON.stringify(row))).map(
      (json, part) => sql`insert into ${catalogStaging} values (${importId}, ${target}, ${part}, ${json})`,
    )
  const touchedIds = sql`(select value ->> '$.id' ${stagedRows(importId, [getTableName(plans), removed])})`
  const commit = [
    sql`delete from ${planMinimums} where ${inArray(planMinimums.planId, touchedIds)}`,
    sql`delete from ${planViewability} where ${inArray(planViewability.planId, touchedIds)}`,
    sql`delete from ${plans} where ${plans.id} in (select value ->> '$.id' ${stagedRows(importId, [removed])})`,
    ...rowsByTable.map(([table]) => upsertStaged(table, importId)),
    sql`delete from ${catalogStaging}`,
  ]
  return {
    stage: [
      ...rowsByTable.flatMap(([table, rows]) => stageRows(getTableName(table), rows)),
      ...stageRows(removed, removedRows),
    ].map(toStatement),
    commit: [raiseRevisionStatement(revision), ...commit.map(toStatement)],
  }
}

/** The staging target of the IDs of plans to remove. */
const removed = 'removed'

function stagedRows(importId: string, targets: string[]): SQL {
  const { importId: id, target, json } = catalogStaging
  return sql`from ${catalogStaging}, json_each(${json}) where ${id} = ${importId} and ${inArray(target, targets)}`
}

/** Deletes the staged rows of an import that failed. */
export function unstageStatement(importId: string): Statement {
  return toStatement(sql`delete from ${catalogStaging} where ${eq(catalogStaging.importId, importId)}`)
}

function toStatement(query: SQL): Statement {
  return new SQLiteAsyncDialect().sqlToQuery(query)
}

/** Returns each object that plans refer to in `field`, once. */
function lookupRows<Field extends 'category' | 'planType' | 'productRiskLevel' | 'fundManager'>(
  catalog: readonly CatalogPlan[],
  field: Field,
): NonNullable<CatalogPlan[Field]>[] {
  const rows = new Map<number, NonNullable<CatalogPlan[Field]>>()
  for (const plan of catalog) {
    const row = plan[field]
    if (row) rows.set(row.id, row)
  }
  return [...rows.values()]
}

/** Required, so that a column which no field of a plan fills doesn't compile. */
function toPlanRow(plan: CatalogPlan): Required<InferInsertModel<typeof plans>> {
  return {
    ...plan,
    categoryId: plan.category?.id ?? null,
    planTypeId: plan.planType?.id ?? null,
    riskLevelId: plan.productRiskLevel?.id ?? null,
    fundManagerId: plan.fundManager?.id ?? null,
    fundCurrency: plan.fundCurrency?.currency ?? null,
  }
}

function toMinimumRows({
  id,
  minInvestableAmounts,
  minTopUpAmounts,
}: CatalogPlan): InferInsertModel<typeof planMinimums>[] {
  const currencies = new Set([...Object.keys(minInvestableAmounts), ...Object.keys(minTopUpAmounts)])
  return [...currencies].map((currency) => ({
    planId: id,
    currency,
    minInvestableAmount: minInvestableAmounts[currency] ?? null,
    minTopUpAmount: minTopUpAmounts[currency] ?? null,
  }))
}

function toViewabilityRows({ id, viewableIn: countries }: CatalogPlan): InferInsertModel<typeof planViewability>[] {
  return countries.map((country) => ({ country, planId: id }))
}

/** Inserts or updates all staged rows of a table in one statement. */
function upsertStaged(table: SQLiteTable, importId: string): SQL {
  const columns = Object.entries(getTableColumns(table))
  const primaryKey =
    getTableConfig(table).primaryKeys[0]?.columns ??
    columns.map(([, column]) => column).filter(({ primary }) => primary)
  const names = list(columns.map(([, { name }]) => sql`${sql.identifier(name)}`))
  const values = list(columns.map(([property]) => sql`value ->> ${sql.raw(`'$.${property}'`)}`))
  const key = list(primaryKey.map(({ name }) => sql`${sql.identifier(name)}`))
  const updates = list(columns.map(([, { name }]) => sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`))
  return sql`insert into ${table} (${names}) select ${values} ${stagedRows(importId, [getTableName(table)])}
    on conflict (${key}) do update set ${updates}`
}

function list(items: SQL[]): SQL {
  return sql.join(items, sql`, `)
}

/** D1 allows 2,000,000 bytes in one parameter. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxCharactersPerParameter = 500_000

/** Joins JSON texts to JSON arrays of at most about `maxCharactersPerParameter` characters. */
function chunk(items: readonly string[]): string[] {
  const chunks: string[][] = []
  let length = Infinity
  for (const item of items) {
    if (length + item.length > maxCharactersPerParameter) {
      chunks.push([])
      length = 0
    }
    chunks.at(-1)?.push(item)
    length += item.length + 1
  }
  return chunks.map((texts) => `[${texts.join(',')}]`)
}
