// The SQL of the Worker's plan list.
import { sql } from 'drizzle-orm'
import { filterNames, planFilters, type PlanFilter } from '../catalog/plan-filters.ts'
import type { Queries } from './database.ts'

/** Every column has its table's name in front: then a column that an outdated database lacks is an error, and never a text. */
const revisionAndPlans = sql`select null as id, catalog_revision.revision as value from catalog_revision
  union all
  select plan_viewability.plan_id, plans.document from plan_viewability join plans on plans.id = plan_viewability.plan_id`

type ListRow = [id: null, revision: number] | [id: number, document: string]

/**
 * Lists the documents of the plans that are viewable in a country, in ascending ID, with the revision of the catalog that they
 * belong to. One statement, so that both come from the same moment. D1 counts two rows read for each plan of the country, and up
 * to three more.
 */
export async function selectPlanList(
  db: Queries,
  country: string,
  filter: PlanFilter,
): Promise<{ documents: string[]; revision: number }> {
  const matches = filterNames.map((name) => {
    const value = filter[name]
    if (value === undefined) return sql.empty()
    // The HTTP API takes no boolean.
    const param = typeof value === 'boolean' ? Number(value) : value
    const { path, schema } = planFilters[name]
    // A member of a document has no affinity, and the HTTP API sends every parameter as text.
    const type = sql.raw(schema.type === 'string' ? 'text' : 'integer')
    return sql` and plans.document ->> ${sql.raw(`'${path}'`)} = cast(${param} as ${type})`
  })
  const rows = await db.values<ListRow>(
    sql`${revisionAndPlans} where plan_viewability.country = ${country}${sql.join(matches)} order by 1`,
  )
  const documents: string[] = []
  let revision: number | undefined
  for (const [id, value] of rows) {
    if (id === null) revision = value
    else documents.push(value)
  }
  if (revision === undefined) throw new Error('catalog_revision has no row')
  return { documents, revision }
}

export async function hasViewablePlan(db: Queries, country: string): Promise<boolean> {
  const rows = await db.values(sql`select 1 from plan_viewability where country = ${country} limit 1`)
  return rows.length > 0
}
