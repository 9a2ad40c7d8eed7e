// SQL that reads plans.
import { and, asc, eq, sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn, SQLiteSelect } from 'drizzle-orm/sqlite-core'
import { filterNames, type FilterName, type PlanFilter } from '../catalog/plan-filters.ts'
import type { Plan } from '../catalog/plan-schema.ts'
import type { Database } from './database.ts'
import {
  catalogRevision,
  fundManagers,
  planCategories,
  planMinimums,
  plans,
  planTypes,
  planViewability,
  riskLevels,
} from './schema.ts'

/** The column that each filter compares with. */
const filterColumns: Record<FilterName, SQLiteColumn> = {
  categoryId: plans.categoryId,
  fundType: plans.fundType,
  currency: plans.currency,
}

/** An object such as `{"KES":1000}`. SQLite writes 15 digits, as many as an amount may have (see plan-schema.ts). */
const amountsByCurrency = (amount: SQLiteColumn) =>
  sql`(select json_group_object(${planMinimums.currency}, ${amount}) filter (where ${amount} is not null)
       from ${planMinimums} where ${planMinimums.planId} = ${plans.id})`.mapWith(
    (json: string): Record<string, number> => JSON.parse(json),
  )

/**
 * The columns of each field of a plan, in the contract's order. Drizzle makes an object null if all its columns are null.
 */
export const planFields = {
  id: plans.id,
  identifier: plans.identifier,
  name: plans.name,
  coolName: plans.coolName,
  about: plans.about,
  hint: plans.hint,
  imageUrl: plans.imageUrl,
  thumbnail: plans.thumbnail,
  sector: plans.sector,
  fundType: plans.fundType,
  profitType: plans.profitType,
  profitTypeDescription: plans.profitTypeDescription,
  performance1: plans.performance1,
  performance3: plans.performance3,
  performance5: plans.performance5,
  performance10: plans.performance10,
  performanceDate: plans.performanceDate,
  currency: plans.currency,
  minInvestableAmounts: amountsByCurrency(planMinimums.minInvestableAmount),
  minTopUpAmounts: amountsByCurrency(planMinimums.minTopUpAmount),
  tenor: plans.tenor,
  lockInPeriod: plans.lockInPeriod,
  partialWithdrawable: plans.partialWithdrawable,
  factSheet: plans.factSheet,
  prospectus: plans.prospectus,
  isInvestable: plans.isInvestable,
  nonInvestableNote: plans.nonInvestableNote,
  category: {
    id: planCategories.id,
    name: planCategories.name,
    displayName: planCategories.displayName,
    tagLine: planCategories.tagLine,
  },
  planType: { id: planTypes.id, name: planTypes.name },
  productRiskLevel: { id: riskLevels.id, name: riskLevels.name },
  fundManager: { id: fundManagers.id, name: fundManagers.name },
  fundCurrency: sql`${plans.fundCurrency}`.mapWith((currency: string): { currency: string } | null => ({ currency })),
} satisfies Record<keyof Plan, unknown>

/**
 * Lists the plans that are viewable in a country, in ascending ID, with the revision of the catalog that they belong to. One
 * statement, so that both come from the same moment.
 */
export async function selectPlanList(
  db: Database,
  country: string,
  filter: PlanFilter,
): Promise<{ plans: Plan[]; revision: number }> {
  const matches = filterNames.map((name) => {
    const value = filter[name]
    return value === undefined ? undefined : eq(filterColumns[name], value)
  })
  // The left join returns a row with the revision even if no plan matches.
  const rows = await withLookups(
    db
      .select({ ...planFields, revision: sql<number>`${catalogRevision.revision}` })
      .from(catalogRevision)
      .leftJoin(plans, and(isViewableIn(country), ...matches))
      .$dynamic(),
  ).orderBy(asc(plans.id))
  const [first] = rows
  if (first === undefined) throw new Error('catalog_revision has no row')
  // Drizzle types every column of a left join as nullable.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const found = first.id === null ? [] : (rows.map(({ revision: _revision, ...plan }) => plan) as Plan[])
  return { plans: found, revision: first.revision }
}

/**
 * Every column name has its table's name in front. SQLite reads an unknown name in double quotes as a string, so on an
 * outdated database `"plan_id"` alone would give wrong results instead of an error.
 */
export function isViewableIn(country: string): SQL {
  const { planId } = planViewability
  return sql`${plans.id} in (select ${planId} from ${planViewability} where ${planViewability.country} = ${country})`
}

export function withLookups<Query extends SQLiteSelect>(query: Query) {
  return query
    .leftJoin(planCategories, eq(planCategories.id, plans.categoryId))
    .leftJoin(planTypes, eq(planTypes.id, plans.planTypeId))
    .leftJoin(riskLevels, eq(riskLevels.id, plans.riskLevelId))
    .leftJoin(fundManagers, eq(fundManagers.id, plans.fundManagerId))
}
