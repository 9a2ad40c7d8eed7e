// Stages publications: writes a publication and its plans, which have no effect until it is published. The command line and the Worker's
// schedule call it.
import { and, eq, inArray, lt, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { storePlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { writeInsertValues, type ColumnValues } from './column-values.ts'
import type { Database } from './database.ts'
import { readPages } from './pages.ts'
import { isComplete, isCounted, newestRevision, type Version } from './plan-queries.ts'
import { pendingStates, planVersions, publications } from './schema.ts'

export type NewPublication = Pick<
  typeof publications.$inferSelect,
  'actor' | 'command' | 'note' | 'baseRevision' | 'dueAt' | 'undoneId' | 'redoneId' | 'warnings' | 'needsApproval'
>

/** A plan after a publication. `after` is null if the publication removes the plan. */
export interface PlanAfter {
  planId: number
  after: CatalogPlan | null
}

/**
 * Stages a publication. If the call is interrupted, `deleteAbandonedPublications` deletes its rows later.
 * @returns the publication's ID.
 */
export async function stagePublication(
  db: Database,
  publication: NewPublication,
  plans: readonly PlanAfter[],
): Promise<number> {
  const staged = { state: 'staging' as const, createdAt: sql`unixepoch()`, planCount: plans.length }
  const values = writeInsertValues(publications, { ...publication, ...staged })
  const [row] = await db.values<[number]>(sql`
    insert into ${publications} ${values}
    returning ${publications.id}`)
  if (row === undefined) throw new Error('D1 returned no row')
  await stagePlans(db, row[0], publication.baseRevision, plans)
  return row[0]
}

/** Copies the plans of a publication to another base, except merged plans, which are there already. */
export async function stageUnchanged(db: Database, publicationId: number, mergedRevision: number): Promise<void> {
  const { planId, document, viewableIn, hash } = planVersions
  const isOwn = and(eq(publications.id, publicationId), isCounted(planVersions, publications))
  const source = sql`from ${planVersions}, ${publications} where ${isOwn}`
  await db.run(insertVersions(publicationId, mergedRevision, { planId, document, viewableIn, hash }, source))
}

/** Writes plans of a publication, in parts. @param baseRevision the base to which they belong. */
export async function stagePlans(
  db: Database,
  publicationId: number,
  baseRevision: number,
  plans: readonly PlanAfter[],
): Promise<void> {
  const rows = await Promise.all(plans.map(async ({ planId, after }) => hashVersion([planId, ...storePlan(after)])))
  const chunks = joinIntoArrays(rows.map((row) => JSON.stringify(row)))
  const count = plans.length.toLocaleString('en')
  for (const [index, json] of chunks.entries()) {
    db.reportProgress?.(`Writing ${count} plans: part ${index + 1} of ${chunks.length}`)
    const version = {
      planId: sql`value ->> 0`,
      document: sql`value ->> 1`,
      viewableIn: sql`value ->> 2`,
      hash: sql`value ->> 3`,
    }
    await db.run(insertVersions(publicationId, baseRevision, version, sql`from json_each(${json}) where true`))
  }
}

/**
 * Makes the statement that writes plans of a publication. It may run again if its answer was lost. It writes nothing if the publication has
 * ended or was deleted.
 * @param version the columns of a plan, in terms of `source`.
 * @param source the end of the statement: `from …`, with a condition.
 */
function insertVersions(
  publicationId: number,
  baseRevision: number,
  version: Pick<ColumnValues<typeof planVersions.$inferInsert>, 'planId' | 'document' | 'viewableIn' | 'hash'>,
  source: SQL,
): SQL {
  const staged = alias(publications, 'staged')
  const isOpen = and(eq(staged.id, publicationId), inArray(staged.state, ['staging', ...pendingStates]))
  return sql`
    insert into ${planVersions} ${writeInsertValues(planVersions, { publicationId, baseRevision, ...version })}
    ${source} and exists (select 1 from ${publications} as ${staged} where ${isOpen})
    on conflict do nothing`
}

/** D1 allows 2,000,000 bytes in one parameter. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxCharactersPerParameter = 600_000

/** Joins JSON texts into JSON arrays of at most about `maxCharactersPerParameter` characters each. */
function joinIntoArrays(items: readonly string[]): string[] {
  const chunks: string[] = []
  for (const item of items) {
    const last = chunks.at(-1)
    if (last === undefined || last.length + item.length > maxCharactersPerParameter) chunks.push(item)
    else chunks[chunks.length - 1] = `${last},${item}`
  }
  return chunks.map((texts) => `[${texts}]`)
}

/** @returns the version with its SHA-256, in hexadecimal digits. */
async function hashVersion(version: Version): Promise<[...Version, hash: string]> {
  const bytes = new TextEncoder().encode(JSON.stringify(version))
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return [...version, Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')]
}

/**
 * Finds publications of which a plan no longer has its hash, or is missing: somebody changed them without a command.
 * @returns their IDs, in ascending order.
 */
export async function findChangedPublications(db: Database): Promise<number[]> {
  const { publicationId, planId, document, viewableIn, hash } = planVersions
  const changed = new Set<number>()
  const pages = readPages(
    (last: number | undefined, limit) =>
      db.values<[rowid: number, publicationId: number, hash: string, ...Version]>(sql`
        select ${planVersions}.rowid, ${publicationId}, ${hash}, ${planId}, ${document}, ${viewableIn} from ${planVersions}
        where ${planVersions}.rowid > ${last ?? 0} order by ${planVersions}.rowid limit ${limit}`),
    ([rowid]) => rowid,
  )
  for await (const page of pages) {
    for (const [, id, stored, ...version] of page) {
      const [, , , computed] = await hashVersion(version)
      if (computed !== stored) changed.add(id)
    }
  }
  const incomplete = await db.values<[number]>(sql`
    select ${publications.id} from ${publications} where ${publications.state} <> 'staging' and not ${isComplete()}`)
  for (const [id] of incomplete) changed.add(id)
  return [...changed].toSorted((a, b) => a - b)
}

const isAbandoned = and(eq(publications.state, 'staging'), lt(publications.createdAt, sql`unixepoch() - 3600`))

/** Deletes publications that are still staged after an hour: first the plans, then the row. May run twice. */
export async function deleteAbandonedPublications(db: Database): Promise<void> {
  const { id } = publications
  const { publicationId } = planVersions
  await db.run(sql`
    delete from ${planVersions} where ${publicationId} in (select ${id} from ${publications} where ${isAbandoned})`)
  await db.run(sql`
    delete from ${publications}
    where ${isAbandoned} and not exists (select 1 from ${planVersions} where ${publicationId} = ${id})`)
}

/**
 * Deletes plans that will never count: their publication was published with another base, or others published after the revision with
 * which they were merged. May run twice.
 */
export async function deleteUncountedVersions(db: Database): Promise<void> {
  const { publicationId, baseRevision } = planVersions
  const isOver = sql`(${publications.revision} is not null or ${baseRevision} < ${newestRevision})`
  // Two ranges of the primary key for each publication.
  const selectOfBase = (isOtherBase: SQL) => sql`
    select ${planVersions}.rowid from ${publications} join ${planVersions} on ${publicationId} = ${publications.id}
    where ${isOtherBase} and ${isOver}`
  await db.run(sql`
    delete from ${planVersions} where rowid in (
      ${selectOfBase(sql`${baseRevision} < ${publications.baseRevision}`)}
      union all ${selectOfBase(sql`${baseRevision} > ${publications.baseRevision}`)}
    )`)
}
