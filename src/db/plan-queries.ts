// The Worker's query for a plan list, and parts of SQL that select versions of plans.
import { and, isNotNull, sql, type Placeholder, type SQL, type SQLWrapper } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { StoredPlan } from '../catalog/plan-document.ts'
import { filterNames, planFilters, type PlanFilter } from '../catalog/plan-filters.ts'
import { readRows, writeQuery } from './database.ts'
import { selectNewestNumber } from './record-numbers.ts'
import { planVersions, publications } from './schema.ts'

/** A version is a plan after a publication. */
export type Version = [planId: number, ...StoredPlan]

export const newestRevision = selectNewestNumber(publications.revision)

type Versions = Record<'publicationId' | 'baseRevision', SQLWrapper>
type Publications = Record<'id' | 'baseRevision', SQLWrapper>

/** Writes the condition that a version counts: it belongs to the publication, and to its base (migrations/*.sql). */
export function isCounted(version: Versions, publication: Publications): SQL {
  return sql`${publication.id} = ${version.publicationId} and ${publication.baseRevision} = ${version.baseRevision}`
}

/** Writes the condition that all plans of a publication were written for a base. */
export function isComplete(baseRevision: SQLWrapper = publications.baseRevision): SQL {
  const counted = isCounted(planVersions, { id: publications.id, baseRevision })
  return sql`${publications.planCount} = (select count(*) from ${planVersions} where ${counted})`
}

/**
 * Selects the newest published version of each plan, in ascending order of `plan_id`. The `document` of a removed plan is null.
 * With max(), SQLite takes the other columns from the row that has the maximum.
 * @param isCandidate the condition for versions that may be the newest.
 */
export function selectNewestVersions(isCandidate: SQL | undefined): SQL {
  return sql`
    select ${planVersions}.rowid as version, ${planVersions.planId}, ${planVersions.document}, ${planVersions.viewableIn},
      max(${publications.revision}) as revision
    from ${planVersions} cross join ${publications} on ${isCounted(planVersions, publications)}
    where ${and(isNotNull(publications.revision), isCandidate)}
    group by ${planVersions.planId}`
}

/** The condition that a version is not marked as older. It has no parameter, because SQLite then uses the partial index. */
export const isNotSuperseded = sql`${planVersions.superseded} = 0`

/** The versions of the publication that a query is about. */
export const ownVersion = alias(planVersions, 'own')
const version = alias(planVersions, 'version')
const made = alias(publications, 'made')

/** Selects the row ID of the version that the plan of `ownVersion` had at a revision. */
export function selectVersionAt(revision: SQLWrapper): SQL {
  return sql`(
    select ${version}.rowid from ${planVersions} as ${version}
    join ${publications} as ${made} on ${isCounted(version, made)}
    where ${version.planId} = ${ownVersion.planId} and ${made.revision} <= ${revision} order by ${made.revision} desc limit 1
  )`
}

const newest = alias(planVersions, 'newest')

/** Writes the condition that the countries of a version, a JSON array, contain a code. */
export function isViewableIn(viewableIn: SQLWrapper, country: string | Placeholder): SQL {
  return sql`instr(${viewableIn}, '"' || ${country} || '"') > 0`
}

/** The condition that all filters select a plan. A filter whose parameter is null selects every plan. */
const isSelected = sql.join(
  filterNames.map((name) => {
    const value = sql.placeholder(name)
    return sql`(${value} is null or ${newest.document} ->> ${sql.raw(`'${planFilters[name].path}'`)} = ${value})`
  }),
  sql` and `,
)

const listQuery = writeQuery(sql`
  select null as id, ${newestRevision} as value
  union all
  select ${newest.planId}, ${newest.document} from (${selectNewestVersions(isNotSuperseded)}) as ${newest}
  where ${isViewableIn(newest.viewableIn, sql.placeholder('country'))} and ${isSelected}
  order by 1`)

const noFilter = Object.fromEntries(filterNames.map((name) => [name, null]))

/**
 * Lists the documents of the plans that are viewable in a country, in ascending ID, with the revision of the catalog. One statement, so
 * that documents and revision come from the same moment.
 * @throws StorageError when D1 fails
 */
export async function selectPlanList(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  country: string,
  filter: PlanFilter,
): Promise<{ documents: string[]; revision: number }> {
  type Row = [id: number | null, value: string]
  const [first, ...listed] = await readRows<Row>(d1, listQuery, { ...noFilter, ...filter, country })
  if (first === undefined) throw new Error('D1 returned no revision')
  return { documents: listed.map(([, document]) => document), revision: Number(first[1]) }
}
