// SQL that reads the catalog as operators see it. The Worker doesn't use it.
import { asc, eq, or, sql, type SQL } from 'drizzle-orm'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import type { Database } from './database.ts'
import { isViewableIn, planFields, withLookups } from './plan-queries.ts'
import { catalogRevision, plans, planViewability } from './schema.ts'

/** Selects the whole catalog, or the plans that are viewable in a country, in ascending order of ID. */
export function selectCatalog(db: Database, country?: string): Promise<CatalogPlan[]> {
  return selectCatalogWhere(db, country === undefined ? undefined : isViewableIn(country))
}

/** @param name the plan's identifier, or its ID if no plan has this identifier. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const id = /^[0-9]{1,16}$/.test(name) ? eq(plans.id, Number(name)) : undefined
  const found = await selectCatalogWhere(db, or(eq(plans.identifier, name), id))
  return found.find(({ identifier }) => identifier === name) ?? found[0]
}

export async function hasViewablePlan(db: Database, country: string): Promise<boolean> {
  const { planId } = planViewability
  const [row] = await db.select({ planId }).from(planViewability).where(eq(planViewability.country, country)).limit(1)
  return row !== undefined
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

/** Returns the catalog's random ID, and its revision, which every change raises. */
export async function selectCatalogOrigin(db: Database): Promise<{ catalog: string; revision: number }> {
  // Qualified: on an outdated database, SQLite would read "catalog" alone as a string.
  const catalog = sql<string>`catalog_revision.catalog`
  const [row] = await db.select({ catalog, revision: catalogRevision.revision }).from(catalogRevision)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return row
}
