// Writes a publication and its plans, without any effect. For the command line and for the Worker's schedule.
import { and, eq, lt, sql, type SQL } from 'drizzle-orm'
import { storePlan } from '../catalog/plan-document.ts'
import type { CatalogPlan } from '../catalog/plan-schema.ts'
import { selectValues, type ColumnValues } from './column-values.ts'
import type { Database } from './database.ts'
import { readPages } from './pages.ts'
import type { Version } from './plan-queries.ts'
import { planVersions, publications } from './schema.ts'

export type NewPublication = Pick<
  typeof publications.$inferSelect,
  'actor' | 'command' | 'note' | 'baseRevision' | 'dueAt' | 'undoneId' | 'needsApproval'
>

/** The texts of a plan after a change. */
export function storeChange({ planId, after }: { planId: number; after: CatalogPlan | null }): Version {
  return [planId, ...storePlan(after)]
}

/**
 * Stages a publication. When it is interrupted, `deleteAbandoned` deletes what it left.
 * @returns its ID.
 */
export async function stagePublication(
  db: Database,
  publication: NewPublication,
  versions: readonly Version[],
): Promise<number> {
  const { actor, command, note, baseRevision, dueAt, undoneId, needsApproval } = publication
  let plansHash: string | null = null
  for (const version of versions.toSorted(([a], [b]) => a - b)) plansHash = await hashNext(plansHash, version)
  const values = selectValues(publications, {
    state: 'staging',
    actor,
    command,
    note,
    createdAt: sql`unixepoch()`,
    baseRevision,
    planCount: versions.length,
    plansHash,
    undoneId,
    dueAt,
    needsApproval,
  })
  const [row] = await db.values<[number]>(sql`
    insert into ${publications} ${values}
    returning ${publications.id}`)
  if (row === undefined) throw new Error('D1 returned no row')
  const count = versions.length.toLocaleString('en')
  await stageVersions(db, row[0], versions, (part, parts) => {
    db.hear?.(`Writing ${count} plans: part ${part} of ${parts}`)
  })
  return row[0]
}

/** @param tell is called before each part is written. */
export async function stageVersions(
  db: Database,
  id: number,
  versions: readonly Version[],
  tell?: (part: number, parts: number) => void,
): Promise<void> {
  const chunks = chunk(versions.map((version) => JSON.stringify(version)))
  for (const [index, json] of chunks.entries()) {
    tell?.(index + 1, chunks.length)
    const plan = { planId: sql`value ->> 0`, document: sql`value ->> 1`, viewableIn: sql`value ->> 2` }
    await db.run(insertVersions(id, plan, sql`from json_each(${json}) where true`))
  }
}

/**
 * Adds plans to a publication, also when the statement runs again because its answer was lost. Nothing is added to one that has
 * left staging, or was deleted.
 * @param source has the columns of the plan, and ends with a condition.
 */
export function insertVersions(
  id: number,
  plan: Pick<ColumnValues<typeof planVersions.$inferInsert>, 'planId' | 'document' | 'viewableIn'>,
  source: SQL,
): SQL {
  const isStaging = and(eq(publications.id, id), eq(publications.state, 'staging'))
  return sql`
    insert into ${planVersions} ${selectValues(planVersions, { publicationId: id, ...plan })}
    ${source} and exists (select 1 from ${publications} where ${isStaging})
    on conflict do nothing`
}

/** D1 allows 2,000,000 bytes in one parameter. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxCharactersPerParameter = 500_000

/** Joins JSON texts to JSON arrays of at most about `maxCharactersPerParameter` characters. */
function chunk(items: readonly string[]): string[] {
  const chunks: string[] = []
  for (const item of items) {
    const last = chunks.at(-1)
    if (last === undefined || last.length + item.length > maxCharactersPerParameter) chunks.push(item)
    else chunks[chunks.length - 1] = `${last},${item}`
  }
  return chunks.map((texts) => `[${texts}]`)
}

/**
 * Computes `plans_hash` again, in pages, for the publications that have plans.
 * @param id only this publication. @param change replaces a version.
 */
export async function hashStoredPlans(
  db: Database,
  id?: number,
  change: (version: Version) => Version = (version) => version,
): Promise<Map<number, string>> {
  const { publicationId, planId, document, viewableIn } = planVersions
  const hashes = new Map<number, string>()
  const pages = readPages(
    ([lastId, lastPlanId]: [number, number] = [-1, -1], limit) =>
      db.values<[id: number, ...Version]>(sql`
        select ${publicationId}, ${planId}, ${document}, ${viewableIn} from ${planVersions}
        where ${id === undefined ? sql`true` : eq(publicationId, id)}
          and (${publicationId}, ${planId}) > (${lastId}, ${lastPlanId})
        order by ${publicationId}, ${planId} limit ${limit}`),
    (row): [number, number] => [row[0], row[1]],
  )
  for await (const page of pages) {
    for (const [ofId, ...version] of page) {
      hashes.set(ofId, await hashNext(hashes.get(ofId) ?? null, change(version)))
    }
  }
  return hashes
}

/** Hashes a plan with the hash of those before it: they need not be in memory together. */
async function hashNext(before: string | null, version: Version): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([before, ...version]))
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const isAbandoned = and(eq(publications.state, 'staging'), lt(publications.createdAt, sql`unixepoch() - 3600`))

/** Deletes what nobody finished within an hour: a row only when it has no plans left, so that none is without a row. May run twice. */
export async function deleteAbandoned(db: Database): Promise<void> {
  const { id } = publications
  const { publicationId } = planVersions
  await db.run(sql`
    delete from ${planVersions} where ${publicationId} in (select ${id} from ${publications} where ${isAbandoned})`)
  await db.run(sql`
    delete from ${publications}
    where ${isAbandoned} and not exists (select 1 from ${planVersions} where ${publicationId} = ${id})`)
}
