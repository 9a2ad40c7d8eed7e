// catalog import, export, purge
import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { compareCatalogs, type CatalogDifference } from '../core/catalog-difference.ts'
import { findConflicts, formatCatalog, parseCatalog } from '../../catalog/catalog-file.ts'
import { abbreviate, type CatalogPlan } from '../../catalog/plan-schema.ts'
import type { Statement } from '../../db/database.ts'
import { importStatements, selectCatalog, selectCatalogVersion, unstageStatement } from '../../db/catalog-queries.ts'
import { getPlanListPrefix } from '../../worker/cache/cache-keys.ts'
import { confirm } from '../terminal/confirm.ts'
import { findCountryProblem } from '../core/country.ts'
import type { Io } from '../terminal/io.ts'
import { createProgress, withProgress, type Progress } from '../terminal/progress.ts'
import { changeAndPurge } from '../core/purge-cache.ts'
import type { Store } from '../store/store.ts'
import { addCommand, type Target } from '../store/target.ts'
import { isCausedBy, UserError } from '../core/user-error.ts'

const nothingImported = 'Nothing was imported.'

interface ImportOptions {
  dryRun?: boolean
  prune?: boolean
  json?: boolean
  yes?: boolean
}

export function addCatalogCommands(program: Command, io: Io): void {
  const catalog = program.command('catalog').description('load the plan catalog, and write it out')
  const add = addCommand.bind(undefined, catalog)

  add(
    'import <file>',
    'load plans from a catalog file (- for standard input), all or none; plans that the file lacks stay as they are',
    'import src/catalog/demo.json --dry-run',
  )
    .option('--dry-run', 'show what would change for partners, country by country, and change nothing')
    .option('--prune', 'remove the plans that the file lacks')
    .option('--json', 'print an object: the numbers of plans added, changed, removed and unchanged, and the countries')
    .option('--yes', 'do not ask before plans are changed or removed with --remote')
    .action(async (file: string, options: ImportOptions & Target) => {
      const progress = createProgress(io)
      try {
        const plans = await readCatalogFile(io, file, progress)
        const difference = await io.withStore(options, async (store) => {
          progress.update('Reading the catalog', 0, 1)
          const { version, difference: found } = await compareWithStore(store, plans, options.prune ?? false)
          if (!options.dryRun) {
            const { changed, removed } = found
            progress.end()
            const losses = [
              ...(changed.length > 0 ? [`${count(changed.length)} will be changed.`] : []),
              ...(removed.length > 0 ? [`${count(removed.length)} will be removed.`] : []),
            ]
            if (losses.length > 0) await confirm(io, options, losses.join(' '))
            await applyDifference(io, store, version, found, progress)
          }
          return found
        })
        progress.end()
        io.stdout.write(options.json ? formatJson(difference) : formatDifference(difference, options))
      } finally {
        progress.end()
      }
    })

  add('export', 'print the catalog as a file that import reads back unchanged', 'export --country KE > kenya.json')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .option('--json', 'accepted for symmetry: a catalog file is always JSON')
    .action(async ({ country, ...target }: { country?: string } & Target) => {
      checkCountry(country)
      const plans = await withProgress(io, 'Reading the catalog', () =>
        io.withStore(target, ({ db }) => selectCatalog(db, country)),
      )
      io.stdout.write(formatCatalog(plans))
    })

  add('purge', 'delete the cached plan lists, so that the next requests ask the database', 'purge --country KE')
    .option('--country <code>', 'only those of this country')
    .option('--json', 'print an object with the country, or null for all')
    .action(async ({ country, json, ...target }: { country?: string; json?: boolean } & Target) => {
      checkCountry(country)
      await withProgress(io, 'Deleting the cached lists', () =>
        io.withStore(target, (store) => store.deletePrefix(getPlanListPrefix(country))),
      )
      const sentence = `The cached plan lists of ${country ?? 'all countries'} are deleted.`
      io.stdout.write(`${json ? JSON.stringify({ country: country ?? null }) : sentence}\n`)
    })
}

function checkCountry(country: string | undefined): void {
  const problem = country === undefined ? undefined : findCountryProblem('--country', country)
  if (problem) throw new UserError(problem)
}

/** @throws UserError when the catalog would contradict itself, or a plan change its identity. */
export async function compareWithStore({ db }: Store, plans: readonly CatalogPlan[], isPruning: boolean) {
  // In this order: a catalog that changes in between is not of the version any more, and the import is refused.
  const version = await selectCatalogVersion(db)
  const before = await selectCatalog(db)
  const difference = compareCatalogs(before, plans, isPruning)

  const gone = new Set([...plans, ...difference.removed].map(({ id }) => id))
  const staying = before.filter(({ id }) => !gone.has(id))
  const identifierById = new Map(before.map(({ id, identifier }) => [id, identifier]))
  const idByIdentifier = new Map(staying.map(({ id, identifier }) => [identifier, id]))
  const conflicts = plans.flatMap(({ id, identifier }) => {
    const otherIdentifier = identifierById.get(id)
    const otherId = idByIdentifier.get(identifier)
    if (otherId !== undefined) return [`Plan "${identifier}": id: it is ${otherId} in the catalog; found ${id}.`]
    if (otherIdentifier === undefined || otherIdentifier === identifier) return []
    return [`Plan "${identifier}": id: ${id} is plan "${otherIdentifier}" in the catalog.`]
  })
  // Of plans that are what they were, what they share may still be at odds.
  if (conflicts.length === 0) for (const conflict of findConflicts([...staying, ...plans])) conflicts.push(conflict)
  if (conflicts.length > 0) throw new UserError([...conflicts, nothingImported])
  return { version, difference }
}

/**
 * Writes what differs in one transaction, then deletes the cached plan lists of the countries it touches.
 * @throws UserError when another change was quicker.
 */
export async function applyDifference(
  io: Io,
  store: Store,
  version: number,
  { added, changed, removed, countries }: CatalogDifference,
  progress: Progress,
): Promise<void> {
  const put = [...added, ...changed]
  if (put.length + removed.length === 0) return
  const importId = crypto.randomUUID()
  const { stage, commit } = importStatements(importId, { version, put, removedIds: removed.map(({ id }) => id) })
  const step = `Writing ${count(put.length)}`
  try {
    for (const [index, statement] of stage.entries()) {
      progress.update(step, index, stage.length + 1)
      await store.write([statement])
    }
    progress.update(step, stage.length, stage.length + 1)
    await changeAndPurge(io, store, { countries: Object.keys(countries) }, () => writeVersion(store, commit))
  } catch (error) {
    await store.write([unstageStatement(importId)]).catch(() => {})
    throw error instanceof UserError ? new UserError([error.message, nothingImported]) : error
  }
}

/**
 * Writes what makes the next version of the catalog.
 * @throws UserError when there is one by now that it was not worked out against.
 */
export async function writeVersion(store: Store, statements: Statement[]): Promise<void> {
  try {
    await store.write(statements)
  } catch (error) {
    if (!isCausedBy(error, 'catalog_version.version')) throw error
    throw new UserError('The catalog was changed by somebody else meanwhile. Try again.')
  }
}

function count(plans: number): string {
  return `${plans} ${plans === 1 ? 'plan' : 'plans'}`
}

function formatJson({ added, changed, removed, unchanged, countries, unseen }: CatalogDifference): string {
  const counts = { added: added.length, changed: changed.length, removed: removed.length, unchanged }
  return `${JSON.stringify({ ...counts, countries, unseen })}\n`
}

function formatDifference(difference: CatalogDifference, { dryRun, prune }: ImportOptions): string {
  const { added, changed, removed, unchanged, countries, unseen } = difference
  const seen = Object.entries(countries).flatMap(([country, list]) => formatCountry(country, list))
  const nowhere =
    unseen.length === 0 ? [] : ['On the list of no country:', ...unseen.map((identifier) => `  ${identifier}`)]
  const lines = dryRun ? [...seen, ...nowhere] : []
  const counts = [`${added.length} added`, `${changed.length} changed`, `${unchanged} unchanged`]
  if (prune) counts.push(`${removed.length} removed`)
  const verb = dryRun ? 'Would import' : 'Imported'
  const total = added.length + changed.length + unchanged
  return [...lines, `${verb} ${count(total)}: ${counts.join(', ')}.`, ''].join('\n')
}

function formatCountry(country: string, { appears, disappears, changes }: CatalogDifference['countries'][string]) {
  return [
    `${country}: ${appears.length} appear, ${disappears.length} disappear, ${changes.length} change`,
    ...appears.map((identifier) => `  + ${identifier}`),
    ...disappears.map((identifier) => `  - ${identifier}`),
    ...changes.flatMap(({ identifier, fields }) => [
      `  ~ ${identifier}`,
      ...Object.entries(fields).map(([name, { from, to }]) => `      ${name}: ${abbreviatePair(from, to)}`),
    ]),
  ]
}

/** Long texts from shortly before the place where they begin to differ. */
function abbreviatePair(from: unknown, to: unknown): string {
  if (typeof from !== 'string' || typeof to !== 'string') return `${abbreviate(from)} -> ${abbreviate(to)}`
  let same = 0
  while (same < from.length && from[same] === to[same]) same++
  const start = same < 40 ? 0 : same - 20
  const mark = start === 0 ? '' : '…'
  return [from, to].map((text) => abbreviate(`${mark}${text.slice(start)}`)).join(' -> ')
}

/** V8 can't hold a text of 512 MB; a catalog of 10,000 plans has some 15. */
const largestFile = 256_000_000

/** @throws UserError when the file can't be read, or with a line for every defect. */
export async function readCatalogFile(io: Io, file: string, progress: Progress): Promise<CatalogPlan[]> {
  const bytes = file === '-' ? await readBytes(io.stdin) : await readFileBytes(file)
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError(['The file is not UTF-8.', nothingImported])
  }
  const result = parseCatalog(text, (done, total) => progress.update('Checking the plans', done, total))
  if (result.kind === 'invalid') throw new UserError([...result.defects, nothingImported])
  return result.plans
}

const readErrors: Record<string, string> = {
  EACCES: 'you may not read it',
  EISDIR: 'it is a folder',
  ENOENT: 'it does not exist',
}

/** Files on the command line are meant from where `npm run` was typed. */
async function readFileBytes(file: string): Promise<Uint8Array> {
  try {
    return await readBytes(createReadStream(resolve(process.env['INIT_CWD'] ?? '.', file)))
  } catch (error) {
    if (error instanceof UserError) throw error
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    const reason = readErrors[code] ?? code
    throw new UserError(`Can't read ${abbreviate(file)}: ${reason}. Name a catalog file, or - for standard input.`)
  }
}

async function readBytes(stream: AsyncIterable<Uint8Array | string>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > largestFile) {
      throw new UserError([`The file is larger than ${largestFile / 1e6} MB. Split it into several.`, nothingImported])
    }
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}
