// SQL that reads the catalog as operators see it. The Worker doesn't use it.
import { and, asc, eq, gt, or, sql, type SQL } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { CatalogOrigin } from '../catalog/catalog-file.ts'
import { readPlan } from '../catalog/plan-document.ts'
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
export function selectCatalog(db: Database, country?: string): Promise<CatalogSnapshot> {
  return selectSnapshot(db, country === undefined ? undefined : isViewableIn(country))
}

/** @param name the plan's identifier, or its ID if no plan has this identifier. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const { plans: found } = await selectSnapshot(db, or(eq(plans.identifier, name), hasId(plans.id, name)))
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

/** Reads in pages. Each says the revision, and reading starts again when that changed. */
async function selectSnapshot(db: Database, condition: SQL | undefined): Promise<CatalogSnapshot> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const rows = await readAll<SnapshotRow>((last, limit) => selectSnapshotPage(db, condition, last?.id, limit))
    const [first] = rows
    if (first === undefined) throw new Error('catalog_revision has no row')
    const { catalog, revision } = first
    if (rows.some((row) => row.revision !== revision)) continue
    const found = rows.flatMap(({ document, viewableIn }) =>
      document === null ? [] : readPlan({ document, viewableIn }),
    )
    return { origin: { catalog, revision }, plans: found }
  }
  throw new StorageError('The catalog changed each time while it was read.')
}

type SnapshotRow = Awaited<ReturnType<typeof selectSnapshotPage>>[number]

/** The left join returns a row with the revision even if no plan follows. */
function selectSnapshotPage(
  db: Database,
  condition: SQL | undefined,
  lastId: number | null | undefined,
  limit: number,
) {
  return db
    .select({ ...originFields, id: plans.id, document: plans.document, viewableIn })
    .from(catalogRevision)
    .leftJoin(plans, and(lastId == null ? sql`true` : gt(plans.id, lastId), condition))
    .orderBy(asc(plans.id))
    .limit(limit)
}

function isViewableIn(country: string): SQL {
  const { planId } = planViewability
  return sql`${plans.id} in (select ${planId} from ${planViewability} where ${planViewability.country} = ${country})`
}

const viewableIn = sql<string>`(select json_group_array(${planViewability.country} order by ${planViewability.country})
  from ${planViewability} where ${planViewability.planId} = ${plans.id})`
