// catalog import, catalog export
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { findConflicts, formatCatalog, parseCatalog } from '../catalog/catalog-file.ts'
import type { CatalogPlan } from '../catalog/plan.ts'
import { replacePlansStatements, selectCatalog } from '../db/catalog.ts'
import { openDatabase, runStatements } from '../db/database.ts'
import { planListKeyPrefix } from '../plans/list-plans.ts'
import { findCountryProblem } from './country.ts'
import type { Io } from './io.ts'
import { persistToOption, resolvePath, withLocalStore, type Store, type StoreOptions } from './local-store.ts'
import { UserError } from './user-error.ts'

const nothingImported = 'Nothing was imported.'

export function addCatalogCommands(program: Command, io: Io): void {
  const catalog = program.command('catalog').description('load the plan catalog, and write it out')

  catalog
    .command('import')
    .description('load plans from a catalog file, all or none; plans that the file lacks stay as they are')
    .argument('<file>', 'a catalog file, or - for standard input')
    .option('--json', 'print an object with the numbers of plans added and replaced')
    .addOption(persistToOption())
    .addHelpText('after', '\nExample:\n  npm run -s ops -- catalog import src/catalog/demo.json\n')
    .action(async (file: string, options: StoreOptions & { json?: boolean }) => {
      const plans = file === '-' ? parse(await readStream(io.stdin)) : await readCatalogFile(file)
      const counts = await withLocalStore(options, (store) => importCatalog(store, plans))
      io.stdout.write(
        options.json
          ? `${JSON.stringify(counts)}\n`
          : `Imported ${plans.length} ${plans.length === 1 ? 'plan' : 'plans'}: ${counts.added} added, ${counts.replaced} replaced.\n`,
      )
    })

  catalog
    .command('export')
    .description('print the catalog as a file that import reads back unchanged')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .option('--json', 'accepted for symmetry: a catalog file is always JSON')
    .addOption(persistToOption())
    .addHelpText('after', '\nExample:\n  npm run -s ops -- catalog export --country KE > kenya.json\n')
    .action(async ({ country, ...options }: StoreOptions & { country?: string }) => {
      const problem = country === undefined ? undefined : findCountryProblem(country)
      if (problem) throw new UserError(problem)
      const plans = await withLocalStore(options, ({ d1 }) => selectCatalog(openDatabase(d1), country))
      io.stdout.write(formatCatalog(plans))
    })
}

/**
 * Writes the plans in one transaction, then deletes the plan lists that KV holds of the countries they touch.
 * @throws UserError when the catalog would contradict itself, or a plan change its identity.
 */
export async function importCatalog({ d1, kv }: Store, plans: readonly CatalogPlan[]) {
  const existing = new Map((await selectCatalog(openDatabase(d1))).map((plan) => [plan.id, plan]))
  const replaced = plans.flatMap(({ id }) => existing.get(id) ?? [])
  const conflicts = plans.flatMap(({ id, identifier }) => {
    const known = existing.get(id)?.identifier ?? identifier
    return known === identifier ? [] : [`Plan "${identifier}": id: ${id} is plan "${known}" in the catalog.`]
  })
  for (const { id } of plans) existing.delete(id)
  conflicts.push(...findConflicts([...existing.values(), ...plans]))
  if (conflicts.length > 0) throw new UserError([...conflicts, nothingImported])

  await runStatements(d1, replacePlansStatements(plans))
  await deletePlanLists(kv, new Set([...replaced, ...plans].flatMap(({ viewableIn }) => viewableIn)))
  return { added: plans.length - replaced.length, replaced: replaced.length }
}

/** Of those countries; what is held of others and of partners is still true. */
async function deletePlanLists(kv: KVNamespace, countries: Iterable<string>): Promise<void> {
  for (const country of countries) {
    let cursor: string | null = null
    do {
      const page: KVNamespaceListResult<unknown> = await kv.list({ prefix: planListKeyPrefix(country), cursor })
      await Promise.all(page.keys.map(({ name }) => kv.delete(name)))
      cursor = page.list_complete ? null : page.cursor
    } while (cursor !== null)
  }
}

/** @throws UserError with a line for every defect of the file. */
function parse(bytes: Uint8Array): CatalogPlan[] {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError(['The file is not UTF-8.', nothingImported])
  }
  const result = parseCatalog(text)
  if (result.kind === 'invalid') throw new UserError([...result.defects, nothingImported])
  return result.plans
}

/** @throws UserError when the file can't be read, or with a line for every defect. */
export async function readCatalogFile(file: string): Promise<CatalogPlan[]> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(resolvePath(file))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new UserError(`Can't read ${file} (${code}). Name a catalog file, or - for standard input.`)
  }
  return parse(bytes)
}

async function readStream(stream: Io['stdin']): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
