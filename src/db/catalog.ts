// SQL that writes the catalog, and reads all of it back. For operators: the Worker never runs it.
import { asc, getTableColumns, inArray, sql, type InferInsertModel, type SQL } from 'drizzle-orm'
import { getTableConfig, SQLiteAsyncDialect, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { CatalogPlan } from '../catalog/plan.ts'
import type { Database, Statement } from './database.ts'
import { isViewableIn, planFields, withLookups } from './plans.ts'
import { fundManagers, planCategories, planMinimums, plans, planTypes, planViewability, riskLevels } from './schema.ts'

/** The catalog, or the part of it that is viewable in a country, in ascending ID. */
export function selectCatalog(db: Database, country?: string): Promise<CatalogPlan[]> {
  return withLookups(
    db
      .select({ ...planFields, viewableIn })
      .from(plans)
      .$dynamic(),
  )
    .where(country === undefined ? undefined : isViewableIn(db, country))
    .orderBy(asc(plans.id))
}

const viewableIn = sql`(select json_group_array(${planViewability.country} order by ${planViewability.country})
  from ${planViewability} where ${planViewability.planId} = ${plans.id})`.mapWith((json: string): string[] =>
  JSON.parse(json),
)

/**
 * What writes these plans, to be run in one transaction: new ones are added, those with the ID of an old one replace it
 * in every field, and plans that are not among them stay.
 */
export function replacePlansStatements(catalog: readonly CatalogPlan[]): Statement[] {
  const ids = sql`(select value from json_each(${JSON.stringify(catalog.map(({ id }) => id))}))`
  const statements = [
    ...upsertRows(planCategories, lookupRows(catalog, 'category')),
    ...upsertRows(planTypes, lookupRows(catalog, 'planType')),
    ...upsertRows(riskLevels, lookupRows(catalog, 'productRiskLevel')),
    ...upsertRows(fundManagers, lookupRows(catalog, 'fundManager')),
    ...upsertRows(plans, catalog.map(toPlanRow)),
    sql`delete from ${planMinimums} where ${inArray(planMinimums.planId, ids)}`,
    sql`delete from ${planViewability} where ${inArray(planViewability.planId, ids)}`,
    ...upsertRows(planMinimums, catalog.flatMap(toMinimumRows)),
    ...upsertRows(
      planViewability,
      catalog.flatMap(({ id: planId, viewableIn: countries }) => countries.map((country) => ({ country, planId }))),
    ),
  ]
  const dialect = new SQLiteAsyncDialect()
  return statements.map((statement) => dialect.sqlToQuery(statement))
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

/** D1 takes at most 2,000,000 bytes in one parameter; a character has at most three of UTF-8. */
const mostCharactersPerParameter = 500_000

/** Rows go in as JSON, one parameter for many, as D1 allows 100 parameters in a statement. */
function upsertRows<Table extends SQLiteTable>(table: Table, rows: readonly InferInsertModel<Table>[]): SQL[] {
  const columns = Object.entries(getTableColumns(table))
  const primaryKey =
    getTableConfig(table).primaryKeys[0]?.columns ??
    columns.map(([, column]) => column).filter(({ primary }) => primary)
  const names = list(columns.map(([, { name }]) => sql`${sql.identifier(name)}`))
  const values = list(columns.map(([property]) => sql`value ->> ${sql.raw(`'$.${property}'`)}`))
  const key = list(primaryKey.map(({ name }) => sql`${sql.identifier(name)}`))
  const updates = list(columns.map(([, { name }]) => sql`${sql.identifier(name)} = excluded.${sql.identifier(name)}`))
  return chunk(rows.map((row) => JSON.stringify(row))).map(
    (json) =>
      sql`insert into ${table} (${names}) select ${values} from json_each(${json}) where true on conflict (${key}) do update set ${updates}`,
  )
}

function list(items: SQL[]): SQL {
  return sql.join(items, sql`, `)
}

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
