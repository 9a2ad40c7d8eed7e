// Writes publications with their plans, which have no effect until published. The Worker's schedule calls it, too.
import { and, eq, inArray, lt, sql, type SQL } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { encodePlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { writeInsertValues, type ColumnValues } from './column-values.ts'
import type { Database } from './database.ts'
import { readPages } from './pages.ts'
import { isComplete, isVersionOf, newestRevision, type Version } from './plan-queries.ts'
import { pendingStates, planVersions, publications } from './schema.ts'

export type NewPublication = Pick<
  typeof publications.$inferSelect,
  'actor' | 'command' | 'note' | 'baseRevision' | 'dueAt' | 'undoneId' | 'redoneId' | 'warnings' | 'needsApproval'
>

/** A plan as a publication leaves it: `after` is null if the publication removes the plan. */
export interface PlanAfter {
  planId: number
  after: CatalogPlan | null
}

/** Stages a publication with its plans. After an interruption, the schedule deletes what was staged. @returns the publication's ID. */
export async function stagePublication(
  db: Database,
  publication: NewPublication,
  plans: readonly PlanAfter[],
): Promise<number> {
  const columns = { ...publication, state: 'staging' as const, createdAt: sql`unixepoch()`, planCount: plans.length }
  const [row] = await db.values<[number]>(sql`
    insert into ${publications} ${writeInsertValues(publications, columns)}
    returning ${publications.id}`)
  if (row === undefined) throw new Error('D1 returned no row')
  await stagePlans(db, row[0], publication.baseRevision, plans)
  return row[0]
}

/** Completes a merge: copies the plans that nobody else changed from the base of the publication to the base `mergedRevision`. */
export async function stageUnchangedPlans(db: Database, publicationId: number, mergedRevision: number): Promise<void> {
  const { planId, document, viewableIn, hash } = planVersions
  const isOfPublication = and(eq(publications.id, publicationId), isVersionOf(planVersions, publications))
  const columns = { planId, document, viewableIn, hash }
  // The insert skips the plans that others changed: the merge has written these plans already.
  const tables = sql`${planVersions}, ${publications}`
  await db.run(writeVersionInsert(publicationId, mergedRevision, columns, tables, isOfPublication))
}

/** Writes plans of a publication in several statements. @param baseRevision the revision of the catalog from which the plans were computed. */
export async function stagePlans(
  db: Database,
  publicationId: number,
  baseRevision: number,
  plans: readonly PlanAfter[],
): Promise<void> {
  const rows = plans.map(async ({ planId, after }) => {
    const version: Version = [planId, ...encodePlan(after)]
    return JSON.stringify([...version, await computeHash(version)])
  })
  const parts = joinIntoArrays(await Promise.all(rows))
  const count = plans.length.toLocaleString('en')
  for (const [index, json] of parts.entries()) {
    db.reportProgress?.(`Writing ${count} plans: part ${index + 1} of ${parts.length}`)
    const columns = {
      planId: sql`value ->> 0`,
      document: sql`value ->> 1`,
      viewableIn: sql`value ->> 2`,
      hash: sql`value ->> 3`,
    }
    await db.run(writeVersionInsert(publicationId, baseRevision, columns, sql`json_each(${json})`))
  }
}

/**
 * Writes a statement that inserts plans of a publication, unless the publication has ended or was deleted. The statement skips plans that
 * were inserted already, so it may run again after a lost answer.
 * @param columns the SQL that computes each column from `tables`.
 * @param condition selects the rows of `tables` to insert. Default: all.
 */
function writeVersionInsert(
  publicationId: number,
  baseRevision: number,
  columns: Pick<ColumnValues<typeof planVersions.$inferInsert>, 'planId' | 'document' | 'viewableIn' | 'hash'>,
  tables: SQL,
  condition?: SQL,
): SQL {
  const owner = alias(publications, 'owner')
  const hasNotEnded = and(eq(owner.id, publicationId), inArray(owner.state, ['staging', ...pendingStates]))
  const isStillThere = sql`exists (select 1 from ${publications} as ${owner} where ${hasNotEnded})`
  return sql`
    insert into ${planVersions} ${writeInsertValues(planVersions, { publicationId, baseRevision, ...columns })}
    from ${tables} where ${and(condition, isStillThere)} on conflict do nothing`
}

/** The length of the longest parameter. D1 allows 2,000,000 bytes, and a character of JavaScript has at most 3 bytes in UTF-8. */
const maxCharactersPerParameter = 600_000

/** Joins JSON texts into JSON arrays. Begins a new array after about `maxCharactersPerParameter` characters. */
function joinIntoArrays(jsonTexts: readonly string[]): string[] {
  const arrays: string[] = []
  for (const text of jsonTexts) {
    const lastItems = arrays.at(-1)
    if (lastItems === undefined || lastItems.length + text.length > maxCharactersPerParameter) arrays.push(text)
    else arrays[arrays.length - 1] = `${lastItems},${text}`
  }
  return arrays.map((items) => `[${items}]`)
}

/** Computes the SHA-256 of a plan's ID, document and countries, in hexadecimal. */
async function computeHash(version: Version): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(version))
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Finds the IDs of publications with a plan that was added, is missing or does not match its stored hash. No command causes that. */
export async function findDamagedPublications(db: Database): Promise<number[]> {
  const { publicationId, planId, document, viewableIn, hash } = planVersions
  const damagedIds = new Set<number>()
  const pages = readPages(
    (lastId: number | undefined, limit) =>
      db.values<[rowid: number, publicationId: number, hash: string, ...Version]>(sql`
        select ${planVersions}.rowid, ${publicationId}, ${hash}, ${planId}, ${document}, ${viewableIn} from ${planVersions}
        where ${planVersions}.rowid > ${lastId ?? 0} order by ${planVersions}.rowid limit ${limit}`),
    ([rowid]) => rowid,
  )
  for await (const page of pages) {
    for (const [, id, storedHash, ...version] of page) {
      if ((await computeHash(version)) !== storedHash) damagedIds.add(id)
    }
  }
  const incompleteRows = await db.values<[number]>(sql`
    select ${publications.id} from ${publications} where ${publications.state} <> 'staging' and not ${isComplete()}`)
  for (const [id] of incompleteRows) damagedIds.add(id)
  return [...damagedIds].toSorted((a, b) => a - b)
}

const isAbandoned = and(eq(publications.state, 'staging'), lt(publications.createdAt, sql`unixepoch() - 3600`))

/** Deletes publications that are still staged after an hour. If a command writes plans meanwhile, the next run deletes the publication. */
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
 * Deletes versions of a merge that their publication will never use: their base is not the base of the publication. If the publication is
 * not published, deletes them only if the catalog has changed since the merge.
 */
export async function deleteUnusedVersions(db: Database): Promise<void> {
  const { publicationId, baseRevision } = planVersions
  const isPublished = sql`${publications.revision} is not null`
  const isMergeOutdated = sql`${baseRevision} < ${newestRevision}`
  const selectUnused = (hasOtherBase: SQL) => sql`
    select ${planVersions}.rowid from ${publications} join ${planVersions} on ${publicationId} = ${publications.id}
    where ${hasOtherBase} and (${isPublished} or ${isMergeOutdated})`
  // Two queries, because SQLite uses the primary key for < and >, but not for <>.
  await db.run(sql`
    delete from ${planVersions} where rowid in (
      ${selectUnused(sql`${baseRevision} < ${publications.baseRevision}`)}
      union all ${selectUnused(sql`${baseRevision} > ${publications.baseRevision}`)}
    )`)
}
