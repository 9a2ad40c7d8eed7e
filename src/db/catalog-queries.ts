// SQL that reads the catalog as operators see it. The Worker doesn't use it.
import { and, asc, eq, gt, or, sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { CatalogOrigin } from '../catalog/catalog-file.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { StorageError, type Database } from './database.ts'
import { readAll } from './pages.ts'
import { catalogRevision, plans, planViewability } from './schema.ts'

/** Plans in ascending order of ID, all of one revision. */
export interface CatalogSnapshot {
  origin: CatalogOrigin
  plans: CatalogPlan[]
}

/** Selects the whole catalog, or the plans that are viewable in a country. */
export async function selectCatalog(db: Database, country?: string): Promise<CatalogSnapshot> {
  return readSnapshot(await selectStored(db, country === undefined ? undefined : isViewableIn(country)))
}

/** @param name the plan's identifier, or its ID if no plan has this identifier. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const { plans: found } = readSnapshot(await selectStored(db, or(eq(plans.identifier, name), hasId(plans.id, name))))
  return found.find(({ identifier }) => identifier === name) ?? found[0]
}

/** @returns undefined when `name` can't be an ID. */
export function hasId(column: SQLiteColumn, name: string): SQL | undefined {
  return /^[0-9]{1,16}$/.test(name) ? eq(column, Number(name)) : undefined
}

export async function hasViewablePlan(db: Database, country: string): Promise<boolean> {
  const { planId } = planViewability
  const [row] = await db.select({ planId }).from(planViewability).where(eq(planViewability.country, country)).limit(1)
  return row !== undefined
}

export async function selectCatalogOrigin(db: Database): Promise<CatalogOrigin> {
  const [row] = await db.select(originFields).from(catalogRevision)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return row
}

/** Qualified: on an outdated database, SQLite would read "catalog" alone as a string. */
const originFields = { catalog: sql<string>`catalog_revision.catalog`, revision: catalogRevision.revision }

/** Each attempt fails only because somebody published in between. */
const maxAttempts = 10

/** The texts of plans as they are stored, in ascending order of ID, all of one revision. */
export interface StoredCatalog {
  origin: CatalogOrigin
  stored: (StoredPlan & { id: number })[]
}

function readSnapshot({ origin, stored }: StoredCatalog): CatalogSnapshot {
  return { origin, plans: stored.map(readPlan) }
}

/** Reads in pages. Each says the revision, and reading starts again when that changed. */
export async function selectStored(db: Database, condition?: SQL): Promise<StoredCatalog> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const rows = await readAll<StoredRow>((last, limit) => selectStoredPage(db, condition, last, limit))
    const [first] = rows
    if (first === undefined) throw new Error('catalog_revision has no row')
    const { catalog, revision } = first
    if (rows.some((row) => row.revision !== revision)) continue
    const stored = rows.flatMap(({ id, document, viewableIn: countries }) =>
      id === null || document === null ? [] : { id, document, viewableIn: countries },
    )
    return { origin: { catalog, revision }, stored }
  }
  throw new StorageError('The catalog changed each time while it was read.')
}

interface StoredRow extends CatalogOrigin {
  id: number | null
  document: string | null
  viewableIn: string
}

/** The left join returns a row with the revision even if no plan follows. */
async function selectStoredPage(
  db: Database,
  condition: SQL | undefined,
  last: StoredRow | undefined,
  limit: number,
): Promise<StoredRow[]> {
  if (last?.id === null) return []
  return db
    .select({ ...originFields, id: plans.id, document: plans.document, viewableIn })
    .from(catalogRevision)
    .leftJoin(plans, and(last ? gt(plans.id, last.id) : sql`true`, condition))
    .orderBy(asc(plans.id))
    .limit(limit)
}

function isViewableIn(country: string): SQL {
  const { planId } = planViewability
  return sql`${plans.id} in (select ${planId} from ${planViewability} where ${planViewability.country} = ${country})`
}

const viewableIn = sql<string>`(select json_group_array(${planViewability.country} order by ${planViewability.country})
  from ${planViewability} where ${planViewability.planId} = ${plans.id})`
