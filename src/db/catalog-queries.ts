// SQL that reads the catalog as operators see it. The Worker doesn't use it.
import { sql, type SQL } from 'drizzle-orm'
import type { CatalogOrigin } from '../catalog/catalog-file.ts'
import { readPlan, type StoredPlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { StorageError, type Database } from './database.ts'
import { readAll } from './pages.ts'

/** Plans in ascending order of ID, all of one revision. */
export interface CatalogSnapshot {
  origin: CatalogOrigin
  plans: CatalogPlan[]
}

/** Selects the whole catalog, or the plans that are viewable in a country. */
export async function selectCatalog(db: Database, country?: string): Promise<CatalogSnapshot> {
  const isListed = sql`plans.id in (select plan_id from plan_viewability where country = ${country ?? ''})`
  return readSnapshot(await selectStored(db, country === undefined ? sql`true` : isListed))
}

/** @param name the plan's identifier or ID. */
export async function selectCatalogPlan(db: Database, name: string): Promise<CatalogPlan | undefined> {
  const isNamed = sql`(plans.identifier = ${name} or ${hasId(sql`plans.id`, name)})`
  return readSnapshot(await selectStored(db, isNamed)).plans[0]
}

/** Whether a column of IDs has the ID that `name` may be. */
export function hasId(column: SQL, name: string): SQL {
  return /^[0-9]{1,16}$/.test(name) ? sql`${column} = ${Number(name)}` : sql`false`
}

export async function selectCatalogOrigin(db: Database): Promise<CatalogOrigin> {
  const [row] = await db.values<[string, number]>(sql`select ${originColumns} from catalog_revision`)
  if (row === undefined) throw new Error('catalog_revision has no row')
  return { catalog: row[0], revision: row[1] }
}

const originColumns = sql`catalog_revision.catalog, catalog_revision.revision`

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

type StoredRow = [catalog: string, revision: number, ...([id: number, ...StoredColumns] | [null, null, string])]
type StoredColumns = [document: string, viewableIn: string]

/** Reads in pages. Each says the revision, and reading starts again when that changed. */
export async function selectStored(db: Database, condition = sql`true`): Promise<StoredCatalog> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // The left join returns a row with the revision even if no plan follows.
    const rows = await readAll<StoredRow>(async (last, limit) => {
      if (last?.[2] === null) return []
      const isLater = last ? sql`plans.id > ${last[2]}` : sql`true`
      return db.values(sql`
        select ${originColumns}, plans.id, plans.document,
          (select json_group_array(country order by country) from plan_viewability where plan_id = plans.id)
        from catalog_revision left join plans on ${isLater} and ${condition}
        order by plans.id limit ${limit}`)
    })
    const [first] = rows
    if (first === undefined) throw new Error('catalog_revision has no row')
    const [catalog, revision] = first
    if (rows.some((row) => row[1] !== revision)) continue
    const stored = rows.flatMap(([, , id, document, viewableIn]) => (id === null ? [] : { id, document, viewableIn }))
    return { origin: { catalog, revision }, stored }
  }
  throw new StorageError('The catalog changed each time while it was read.')
}
