// Writes a publication and its plans, without any effect. For the command line and for the Worker's schedule.
import { sql, type SQL } from 'drizzle-orm'
import type { Queries } from './database.ts'
import { readPages } from './pages.ts'
import type { publications } from './schema.ts'
import { hashText } from './sha256.ts'
import { integer, text } from './sql-values.ts'

type Proposal = typeof publications.$inferSelect

export interface NewPublication extends Pick<
  Proposal,
  'actor' | 'command' | 'note' | 'baseRevision' | 'dueAt' | 'undoneId' | 'needsApproval'
> {}

/** The texts of a plan after a publication; null when it is removed. */
export type Version = [planId: number, document: string | null, viewableIn: string | null]

/**
 * Stages a publication. When it is interrupted, `deleteAbandoned` deletes what it left.
 * @returns its ID.
 */
export async function stagePublication(
  db: Queries,
  publication: NewPublication,
  versions: readonly Version[],
  onStaged: (done: number, total: number) => void = () => {},
): Promise<number> {
  const { actor, command, note, baseRevision, dueAt, undoneId, needsApproval } = publication
  const [row] = await db.values<[number]>(sql`
    insert into publications (state, actor, command, note, created_at, base_revision, plan_count, plans_hash, undone_id, due_at,
      needs_approval)
    values ('staging', ${actor}, ${command}, ${text(note)}, unixepoch(), ${integer(baseRevision)}, ${integer(versions.length)},
      ${text(await hashVersions(versions))}, ${integer(undoneId)}, ${integer(dueAt)}, ${integer(Number(needsApproval))})
    returning id`)
  if (row === undefined) throw new Error('D1 returned no row')
  await stageVersions(db, row[0], versions, onStaged)
  return row[0]
}

/** The version of a plan of `own` that was current at a revision. */
export function selectVersionAt(revision: SQL): SQL {
  return sql`(
    select version.rowid from plan_versions as version join publications as made on made.id = version.publication_id
    where version.plan_id = own.plan_id and made.revision <= ${revision} order by made.revision desc limit 1
  )`
}

/** Nothing is added to a publication that has left staging, or was deleted. */
export const canStage = (id: number) =>
  sql`exists (select 1 from publications where id = ${integer(id)} and state = 'staging')`

/** The insert runs again when its answer was lost. */
export const isStaged = (id: number, planId: SQL) =>
  sql`exists (select 1 from plan_versions as own where own.publication_id = ${integer(id)} and own.plan_id = ${planId})`

export async function stageVersions(
  db: Queries,
  id: number,
  versions: readonly Version[],
  onStaged: (done: number, total: number) => void,
): Promise<void> {
  const chunks = chunk(versions.map((version) => JSON.stringify(version)))
  for (const [index, json] of chunks.entries()) {
    onStaged(index, chunks.length)
    await db.run(sql`
      insert into plan_versions (publication_id, plan_id, document, viewable_in)
      select ${integer(id)}, value ->> 0, value ->> 1, value ->> 2 from json_each(${json})
      where ${canStage(id)} and not ${isStaged(id, sql`value ->> 0`)}`)
  }
  onStaged(chunks.length, chunks.length)
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

/** Hashes the hashes of the plans, so that they need not be in memory together. @returns null for no version. */
async function hashVersions(versions: readonly Version[]): Promise<string | null> {
  return joinHashes(await Promise.all(versions.toSorted(([a], [b]) => a - b).map(hashVersion)))
}

const hashVersion = (version: Version) => hashText(JSON.stringify(version))
const joinHashes = (hashes: readonly string[]) => (hashes.length === 0 ? null : hashText(hashes.join('')))

/** Computes the hash of the plans of a publication again, in pages. @param change replaces a version. */
export async function hashStoredPlans(
  db: Queries,
  id: number,
  change: (version: Version) => Version = (version) => version,
): Promise<string | null> {
  const hashes: string[] = []
  for await (const page of readVersions(db, id))
    hashes.push(...(await Promise.all(page.map((v) => hashVersion(change(v))))))
  return joinHashes(hashes)
}

/** Computes the same for every publication with plans, by its ID. */
export async function hashAllPlans(db: Queries): Promise<Map<number, string | null>> {
  const hashes = new Map<number, string[]>()
  const pages = readPages<[id: number, ...Version]>((last, limit) =>
    db.values(sql`
      select publication_id, plan_id, document, viewable_in from plan_versions
      where (publication_id, plan_id) > (${integer(last?.[0] ?? -1)}, ${integer(last?.[1] ?? -1)})
      order by publication_id, plan_id limit ${limit}`),
  )
  for await (const page of pages) {
    for (const [id, ...version] of page) {
      if (!hashes.has(id)) hashes.set(id, [])
      hashes.get(id)?.push(await hashVersion(version))
    }
  }
  return new Map(await Promise.all([...hashes].map(async ([id, own]) => [id, await joinHashes(own)] as const)))
}

function readVersions(db: Queries, id: number): AsyncGenerator<Version[]> {
  return readPages<Version>((last, limit) =>
    db.values(sql`
      select plan_id, document, viewable_in from plan_versions
      where publication_id = ${integer(id)} and plan_id > ${integer(last?.[0] ?? -1)} order by plan_id limit ${limit}`),
  )
}

export const isAbandoned = sql`state = 'staging' and created_at < unixepoch() - 3600`

/** Deletes what nobody finished within an hour. Two statements: what the first one leaves, the next run deletes. */
export async function deleteAbandoned(db: Queries): Promise<void> {
  await db.run(
    sql`delete from plan_versions where publication_id in (select id from publications where ${isAbandoned})`,
  )
  await db.run(sql`delete from publications where ${isAbandoned}`)
}
