// The SQL of the Worker's plan list, and what the current catalog is.
import { sql, type SQL } from 'drizzle-orm'
import type { StoredPlan } from '../catalog/plan-document.ts'
import { filterNames, planFilters, writeCondition, type PlanFilter } from '../catalog/plan-filters.ts'
import type { Database } from './database.ts'

/** A plan after a publication. */
export type Version = [planId: number, ...StoredPlan]

export const newestRevision = sql`(select coalesce(max(revision), 0) from publications)`

/**
 * Selects the newest published version of each plan, in ascending order of `plan_id`. The `document` of a removed plan is null.
 * @param isCandidate which versions may count. With max(), SQLite takes the other columns from the row that has the maximum.
 */
export function selectNewestVersions(isCandidate: SQL): SQL {
  return sql`
    select plan_versions.rowid as version, plan_versions.plan_id, plan_versions.document, plan_versions.viewable_in,
      max(publications.revision) as revision
    from plan_versions cross join publications on publications.id = plan_versions.publication_id
    where publications.revision is not null and ${isCandidate}
    group by plan_versions.plan_id`
}

/** Reads the history only as far as it isn't marked yet. */
export const isNotSuperseded = sql`plan_versions.superseded = 0`

/** The version of a plan of `own` that was current at a revision. */
export function selectVersionAt(revision: SQL): SQL {
  return sql`(
    select version.rowid from plan_versions as version join publications as made on made.id = version.publication_id
    where version.plan_id = own.plan_id and made.revision <= ${revision} order by made.revision desc limit 1
  )`
}

/**
 * Lists the documents of the plans that are viewable in a country, in ascending ID, with the revision of the catalog that they
 * belong to. One statement, so that both come from the same moment.
 */
export async function selectPlanList(
  db: Database,
  country: string,
  filter: PlanFilter,
): Promise<{ documents: string[]; revision: number }> {
  const matches = filterNames.map((name) => {
    const value = filter[name]
    if (value === undefined) return sql.empty()
    // The HTTP API takes no boolean.
    const param = typeof value === 'boolean' ? Number(value) : value
    const [before = '', after = ''] = writeCondition(planFilters[name]).split('?')
    return sql` and ${sql.raw(before)}${param}${sql.raw(after)}`
  })
  const [first, ...listed] = await db.values<[id: number | null, value: string]>(sql`
    select null as id, coalesce(max(revision), 0) as value from publications
    union all
    select plan_id, document from (${selectNewestVersions(isNotSuperseded)})
    where instr(viewable_in, ${`"${country}"`}) > 0${sql.join(matches)}
    order by 1`)
  if (first === undefined) throw new Error('D1 returned no revision')
  return { documents: listed.map(([, document]) => document), revision: Number(first[1]) }
}
