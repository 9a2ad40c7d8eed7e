// Backups: the whole database as lines of JSON, and back. The first line describes the backup, each further line is a row:
// the table, then its values. The last line holds the SHA-256 of everything before it.
import { createHash } from 'node:crypto'
import {
  backupParts,
  countRows,
  deleteStagedRows,
  insertRows,
  isRestoring,
  releaseDatabase,
  reserveEmptyDatabase,
  selectFingerprint,
  selectRowsAfter,
  type BackupPart,
  type Row,
} from '../../db/backup-queries.ts'
import { selectCatalogOrigin } from '../../db/catalog-queries.ts'
import type { Database } from '../../db/database.ts'
import { selectMigrations } from '../../db/health-queries.ts'
import { readPages } from '../../db/pages.ts'
import { selectNowSeconds } from '../../db/publication-queries.ts'
import { parseJson, readPath } from '../../json.ts'
import { isUncertain } from '../store/failure.ts'
import type { Store } from '../store/store.ts'
import { describeMigration } from '../shared/target.ts'
import { formatIsoTime } from './iso-time.ts'
import type { OnProgress } from './publications.ts'
import { UserError } from '../shared/user-error.ts'

const format = 'partner-investment-plan-catalog-backup'
const version = 2

/** The first line of a backup. */
interface Header {
  format: typeof format
  version: typeof version
  createdAt: string
  environment: string
  /** The catalog's random ID and its revision. */
  catalog: string
  revision: number
  /** The migrations that the database had. */
  migrations: string[]
  /** The columns of each table, in the order of a row's values. */
  tables: Record<string, readonly string[]>
  /** How many rows each part has (see backupParts). */
  rows: number[]
}

/** D1 documents no size for a call; this is well below 1 MB. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxChunkCharacters = 300_000

/**
 * Reads the database as it is at one moment, in pieces of a file.
 * @throws UserError when somebody changes it meanwhile.
 */
export async function* readBackup(store: Store, onProgress: OnProgress): AsyncGenerator<string> {
  const { read, target } = store
  const fingerprint = await selectFingerprint(read)
  const [{ catalog, revision }, migrations, now, rows] = await Promise.all([
    selectCatalogOrigin(read),
    selectMigrations(read),
    selectNowSeconds(read),
    countRows(read),
  ])
  if (isRestoring(catalog))
    throw new UserError('A restore of this database is not complete: there is nothing to back up.')
  const tables = listColumns()
  const environment = target.env ?? 'local'
  const createdAt = formatIsoTime(now)
  const header: Header = { format, version, createdAt, environment, catalog, revision, migrations, tables, rows }
  const hash = createHash('sha256')
  const write = (text: string) => {
    hash.update(text)
    return text
  }
  yield write(`${JSON.stringify(header)}\n`)
  const total = sum(rows)
  let done = 0
  for (const part of backupParts) {
    for await (const page of readPages<Row>((last, limit) => selectRowsAfter(read, part, last, limit))) {
      onProgress('Reading the database', done, total)
      done += page.length
      yield write(page.map((row) => `${JSON.stringify([part.table, ...row])}\n`).join(''))
    }
  }
  if (done !== total || (await selectFingerprint(read)) !== fingerprint) {
    throw new UserError('Somebody changed the database while it was read. Nothing was written: try again.')
  }
  yield `${JSON.stringify({ sha256: hash.digest('hex') })}\n`
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

function listColumns(): Header['tables'] {
  return Object.fromEntries(backupParts.map(({ table, columns }) => [table, columns]))
}

/** Opens the lines of a file, from its start. */
export type OpenLines = () => AsyncIterable<string>

/**
 * Writes a backup into an empty database. A restore that was interrupted continues when it runs again: no partner and no
 * command sees the database as complete before.
 * @returns the description of the backup.
 * @throws UserError when the file is damaged, or the database has other migrations, or is not empty.
 */
export async function restoreBackup(
  store: Store,
  openLines: OpenLines,
  onProgress: OnProgress,
): Promise<Pick<Header, 'createdAt' | 'environment' | 'rows'>> {
  const { read, stage, noteOutcome } = store
  const { header, sha256 } = await checkFile(openLines)
  checkSchema(store, header, await selectMigrations(read))
  // The answer to the last statement of an earlier run may be lost.
  if (await isRestored(read, header)) return header
  const isReserved = await reserveEmptyDatabase(stage, sha256, header.revision).catch((error: unknown) => {
    // It may be reserved.
    if (isUncertain(error)) noteOutcome('incomplete')
    throw error
  })
  if (!isReserved) throw await refuseNonEmpty(store)
  noteOutcome('incomplete')
  await deleteStagedRows(stage)

  const total = sum(header.rows)
  let done = 0
  for await (const { part, rows } of readChunks(openLines)) {
    onProgress('Writing the database', done, total)
    await insertRows(stage, part, `[${rows.join(',')}]`)
    done += rows.length
  }
  if (JSON.stringify(await countRows(read)) !== JSON.stringify(header.rows)) {
    throw new UserError(`Somebody changed the database while it was restored. Instead, ${describeNewDatabase(store)}`)
  }
  await releaseDatabase(stage, sha256, header.catalog)
  noteOutcome('changed')
  return header
}

async function isRestored(read: Database, header: Header): Promise<boolean> {
  const { catalog, revision } = await selectCatalogOrigin(read)
  if (catalog !== header.catalog || revision !== header.revision) return false
  return JSON.stringify(await countRows(read)) === JSON.stringify(header.rows)
}

/** Reads the whole file before anything is written. */
async function checkFile(openLines: OpenLines): Promise<{ header: Header; sha256: string }> {
  const hash = createHash('sha256')
  let [first, last]: (string | undefined)[] = []
  for await (const line of openLines()) {
    if (last !== undefined) hash.update(`${last}\n`)
    first ??= line
    last = line
  }
  const header = parseJson(first ?? '')
  if (readPath(header, 'format') !== format) {
    throw new UserError('The file is not a backup of this service. Name a file that the command backup wrote.')
  }
  const found = readPath(header, 'version')
  if (found !== version) {
    throw new UserError(`The backup has version ${String(found)}. Restore it with the code that wrote it.`)
  }
  const sha256 = readPath(parseJson(last ?? ''), 'sha256')
  if (typeof sha256 !== 'string' || sha256 !== hash.digest('hex')) {
    throw new UserError('The backup is damaged or not complete: its SHA-256 does not fit. Use another copy.')
  }
  // A file whose hash fits was written by readBackup.
  const checked: Header = JSON.parse(first ?? '')
  return { header: checked, sha256 }
}

function checkSchema({ target }: Store, { migrations, tables }: Header, applied: readonly string[]): void {
  const missing = migrations.filter((name) => !applied.includes(name))
  if (missing.length > 0) {
    throw new UserError(
      `The backup is of a database with ${missing.join(', ')}, which this one lacks. Run: ${describeMigration(target)}`,
    )
  }
  const newer = applied.filter((name) => !migrations.includes(name))
  if (newer.length > 0) {
    throw new UserError(
      `The backup is older than ${newer.join(', ')}. Check out the code before that, migrate a new database, restore, and migrate it again with the code of today.`,
    )
  }
  // The values of a row have no names: they are in the order of these columns.
  const today = listColumns()
  const names = [...new Set([...Object.keys(tables), ...Object.keys(today)])]
  const differing = names.filter((name) => JSON.stringify(tables[name]) !== JSON.stringify(today[name]))
  if (differing.length > 0) {
    throw new UserError(
      `The backup has other columns, or another order of them, in ${differing.join(', ')}. Restore it with the code that wrote it.`,
    )
  }
}

async function refuseNonEmpty(store: Store): Promise<UserError> {
  const { catalog } = await selectCatalogOrigin(store.read)
  if (isRestoring(catalog)) {
    return new UserError(
      `A restore of another backup into this database is not complete. Run that one again, or ${describeNewDatabase(store)}`,
    )
  }
  const counts = await countRows(store.read)
  const found = backupParts.flatMap(({ table }, index) => (counts[index] ? `${table} has ${counts[index]}` : []))
  return new UserError(`The database is not empty: ${found.join(', ')}. Instead, ${describeNewDatabase(store)}`)
}

function describeNewDatabase({ target: { remote } }: Store): string {
  if (!remote) return 'restore into a new folder: migrate and restore with --persist-to DIR.'
  return 'restore into a new database: npx wrangler d1 create NAME, its ID in wrangler.toml, migrate, restore.'
}

/** Joins rows, each as JSON, to what one statement takes. */
async function* readChunks(openLines: OpenLines): AsyncGenerator<{ part: BackupPart; rows: string[] }> {
  let part: BackupPart | undefined
  let rows: string[] = []
  let size = 0
  for await (const line of openLines()) {
    const [, table, values] = /^\["(\w+)",(.*)$/s.exec(line) ?? []
    if (table === undefined) continue
    if (part && (part.table !== table || size + line.length > maxChunkCharacters)) {
      yield { part, rows }
      rows = []
      size = 0
    }
    part = backupParts.find((one) => one.table === table)
    if (part === undefined) throw new Error('the backup has a table that it does not name')
    rows.push(`[${values}`)
    size += line.length
  }
  if (part) yield { part, rows }
}
