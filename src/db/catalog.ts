// SQL that writes the catalog, and reads all of it back. For operators: the Worker never runs it.
import { and, asc, eq, getTableColumns, getTableName, inArray, sql, type InferInsertModel, type SQL } from 'drizzle-orm'
import { getTableConfig, SQLiteAsyncDialect, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { CatalogPlan } from '../catalog/plan.ts'
import type { Database, Statement } from './database.ts'
import { isViewableIn, planFields, withLookups } from './plans.ts'
import {
  catalogStaging,
  catalogVersion,
  fundManagers,
  planCategories,
  planMinimums,
  plans,
  planTypes,
  planViewability,
  riskLevels,
} from './schema.ts'

/** The catalog, or the part of it that is viewable in a country, in ascending ID. */
export function selectCatalog(db: Database, country?: string): Promise<CatalogPlan[]> {
  return selectCatalogWhere(db, country === undefined ? undefined : isViewableIn(db, country))
}

export async function selectCatalogPlan(db: Database, identifier: string): Promise<CatalogPlan | undefined> {
  const [plan] = await selectCatalogWhere(db, eq(plans.identifier, identifier))
  return plan
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

export function showPlanStatement(db: Database, planId: number, country: string): Statement {
  return db.insert(planViewability).values({ planId, country }).onConflictDoNothing().toSQL()
}

export function hidePlanStatement(db: Database, planId: number, country: string): Statement {
  const isTheOne = and(eq(planViewability.planId, planId), eq(planViewability.country, country))
  return db.delete(planViewability).where(isTheOne).toSQL()
}

/** @param note why the plan takes no new investment, or null where it does. */
export function updateInvestableStatement(db: Database, planId: number, note: string | null): Statement {
  return db
    .update(plans)
    .set({ isInvestable: note === null, nonInvestableNote: note ?? sql`null` })
    .where(eq(plans.id, planId))
    .toSQL()
}

export interface CatalogChange {
  /** The version that the change was worked out against. */
  version: number
  /** New plans, and those with the ID of an old one, which they replace in every field. */
  put: readonly CatalogPlan[]
  removedIds: readonly number[]
}

/** Every import makes a new one. */
export async function selectCatalogVersion(db: Database): Promise<number> {
  const [row] = await db.select({ version: catalogVersion.version }).from(catalogVersion)
  if (row === undefined) throw new Error('catalog_version has no row')
  return row.version
}

/**
 * `stage` may run one by one and has no effect on what anybody reads. `commit`, in one transaction, makes the change; it
 * fails on `catalog_version.version` when that is no longer the version of the change. What is staged for any other
 * import goes, too: that one started before and would fail.
 */
export function importStatements(
  importId: string,
  { version, put, removedIds }: CatalogChange,
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
  const touched = jsonIds([...put.map(({ id }) => id), ...removedIds])
  const stage = rowsByTable.flatMap(([table, rows]) =>
    chunk(rows.map((row) => JSON.stringify(row))).map(
      (json, part) => sql`insert into ${catalogStaging} values (${importId}, ${getTableName(table)}, ${part}, ${json})`,
    ),
  )
  const commit = [
    sql`update ${catalogVersion} set version = case version when ${version} then version + 1 end`,
    sql`delete from ${planMinimums} where ${inArray(planMinimums.planId, touched)}`,
    sql`delete from ${planViewability} where ${inArray(planViewability.planId, touched)}`,
    sql`delete from ${plans} where ${inArray(plans.id, jsonIds(removedIds))}`,
    ...rowsByTable.map(([table]) => upsertStaged(table, importId)),
    sql`delete from ${catalogStaging}`,
  ]
  return { stage: stage.map(toStatement), commit: commit.map(toStatement) }
}

/** For an import that can't be completed. */
export function unstageStatement(importId: string): Statement {
  return toStatement(sql`delete from ${catalogStaging} where ${eq(catalogStaging.importId, importId)}`)
}

function toStatement(query: SQL): Statement {
  return new SQLiteAsyncDialect().sqlToQuery(query)
}

function jsonIds(ids: readonly number[]): SQL {
  return sql`(select value from json_each(${JSON.stringify(ids)}))`
}

/** The objects that plans refer to under `field`, each once. */
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

function toPlanRow(plan: CatalogPlan): InferInsertModel<typeof plans> {
  return {
    ...plan,
    lockInPeriodDays: plan.lockInPeriod,
    isPartialWithdrawable: plan.partialWithdrawable,
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

/** The staged rows of one table, in one statement whatever their number. */
function upsertStaged(table: SQLiteTable, importId: string): SQL {
  const columns = Object.entries(getTableColumns(table))
  const primaryKey =
    getTableConfig(table).primaryKeys[0]?.columns ??
    columns.map(([, column]) => column).filter(({ primary }) => primary)
  const names = list(columns.map(([, { name }]) => sql`${sql.identifier(name)}`))
  const values = list(columns.map(([property]) => sql`value ->> ${sql.raw(`'$.${property}'`)}`))
  const key = list(primaryKey.map(({ name }) => sql`${sql.identifier(name)}`))
  const updates = list(columns.map(([, { name }]) => sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`))
  const { importId: id, target, json } = catalogStaging
  return sql`insert into ${table} (${names}) select ${values} from ${catalogStaging}, json_each(${json})
    where ${id} = ${importId} and ${target} = ${getTableName(table)} on conflict (${key}) do update set ${updates}`
}

function list(items: SQL[]): SQL {
  return sql.join(items, sql`, `)
}

/** D1 takes at most 2,000,000 bytes in one parameter; a character has at most three of UTF-8. */
const mostCharactersPerParameter = 500_000

/** JSON arrays of the given JSON texts, each of bounded length. */
function chunk(items: readonly string[]): string[] {
  const chunks: string[][] = []
  let length = Infinity
  for (const item of items) {
    if (length + item.length > mostCharactersPerParameter) {
      chunks.push([])
      length = 0
    }
    chunks.at(-1)?.push(item)
    length += item.length + 1
  }
  return chunks.map((texts) => `[${texts.join(',')}]`)
}
