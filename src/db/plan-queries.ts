// The Worker's query for a plan list, and parts of SQL that select versions of plans.
import { and, isNotNull, sql, type Placeholder, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { StoredPlan } from '../catalog/plan-document.ts'
import { filterNames, planFilters, type PlanFilter } from '../catalog/plan-filters.ts'
import { readRows, writeQuery, type QueriedD1 } from './database.ts'
import { selectNewestNumber } from './record-numbers.ts'
import { planVersions, publications } from './schema.ts'

/** A version: a plan as a publication leaves it. */
export type Version = [planId: number, ...StoredPlan]

/** Selects the newest revision of the catalog, 0 before the first publication. */
export const newestRevision = selectNewestNumber(publications.revision)

/** Writes the condition that a version belongs to the publication, and has its base. A merge may have staged versions with another base. */
export function isVersionOf(
  version: Record<'publicationId' | 'baseRevision', SQLWrapper>,
  publication: Record<'id' | 'baseRevision', SQLWrapper>,
): SQL {
  return sql`${publication.id} = ${version.publicationId} and ${publication.baseRevision} = ${version.baseRevision}`
}

/** Writes the condition that a publication has versions of all its plans, with this base. Default: the publication's own base. */
export function isComplete(baseRevision: SQLWrapper = publications.baseRevision): SQL {
  const isOwnVersion = isVersionOf(planVersions, { id: publications.id, baseRevision })
  return sql`${publications.planCount} = (select count(*) from ${planVersions} where ${isOwnVersion})`
}

/**
 * Selects the newest published version of each plan, in ascending order of `plan_id`. The `document` of a removed plan is null. SQLite
 * takes the columns beside max() from the row that has the maximum.
 * @param isCandidate a condition on `planVersions` and `publications` for the versions to select from.
 */
export function selectNewestVersions(isCandidate: SQL | undefined): SQL {
  return sql`
    select ${planVersions.planId}, ${planVersions.document}, ${planVersions.viewableIn}, max(${publications.revision}) as revision
    from ${planVersions} cross join ${publications} on ${isVersionOf(planVersions, publications)}
    where ${and(isNotNull(publications.revision), isCandidate)}
    group by ${planVersions.planId}`
}

/** The condition that a version is not flagged as superseded. With a parameter in place of the 0, SQLite would not use the partial index. */
export const isNotSuperseded = sql`${planVersions.superseded} = 0`

/** In a query about publications: a version that belongs to one of these publications. */
export const ownVersion = alias(planVersions, 'own')
const version = alias(planVersions, 'version')
const owner = alias(publications, 'owner')

/** In a query with `ownVersion`: selects the row ID of the version that its plan had at a revision of the catalog, null if it had none. */
export function selectVersionAt(revision: SQLWrapper): SQL {
  return sql`(
    select ${version}.rowid from ${planVersions} as ${version}
    join ${publications} as ${owner} on ${isVersionOf(version, owner)}
    where ${version.planId} = ${ownVersion.planId} and ${owner.revision} <= ${revision} order by ${owner.revision} desc limit 1
  )`
}

const newest = alias(planVersions, 'newest')

/** Writes the condition that `viewableIn`, a JSON array of country codes, contains a code. */
export function isViewableIn(viewableIn: SQLWrapper, country: string | Placeholder): SQL {
  return sql`instr(${viewableIn}, '"' || ${country} || '"') > 0`
}

/** The condition that a plan fulfils all filters. Every plan fulfils a filter whose parameter is null. */
const fulfilsFilters = sql.join(
  filterNames.map((name) => {
    const value = sql.placeholder(name)
    return sql`(${value} is null or ${newest.document} ->> ${sql.raw(`'${planFilters[name].path}'`)} = ${value})`
  }),
  sql` and `,
)

/** The first row has the revision instead of a document: SQLite sorts null before all IDs. */
const listQuery = writeQuery(sql`
  select null as id, ${newestRevision} as value
  union all
  select ${newest.planId}, ${newest.document} from (${selectNewestVersions(isNotSuperseded)}) as ${newest}
  where ${isViewableIn(newest.viewableIn, sql.placeholder('country'))} and ${fulfilsFilters}
  order by 1`)

const noFilter = Object.fromEntries(filterNames.map((name) => [name, null]))

/**
 * Selects the plans as JSON documents in ascending order of ID, and with the same statement the revision of the catalog, so that it belongs
 * to the same moment.
 * @throws StorageError when D1 fails
 */
export async function selectPlanList(
  d1: QueriedD1,
  country: string,
  filter: PlanFilter,
): Promise<{ documents: string[]; revision: number }> {
  type Row = [id: number | null, documentOrRevision: string]
  const [revisionRow, ...planRows] = await readRows<Row>(d1, listQuery, { ...noFilter, ...filter, country })
  if (revisionRow === undefined) throw new Error('D1 returned no revision')
  return { documents: planRows.map(([, document]) => document), revision: Number(revisionRow[1]) }
}
