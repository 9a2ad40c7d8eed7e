// catalog import, catalog export
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { formatCatalog, parseCatalog } from '../catalog/catalog-file.ts'
import { countryCode, type CatalogPlan } from '../catalog/plan.ts'
import { replacePlansStatements, selectCatalog, selectPlanKeys, type PlanKey } from '../db/catalog.ts'
import { openDatabase, runStatements } from '../db/database.ts'
import { planListKeyPrefix } from '../plans/list-plans.ts'
import type { Io } from './io.ts'
import { resolvePath, withLocalStore, type Store, type StoreOptions } from './local-store.ts'
import { UserError } from './user-error.ts'

export function addCatalogCommands(program: Command, io: Io): void {
  const catalog = program.command('catalog').description('load the plan catalog, and write it out')

  catalog
    .command('import')
    .description('load plans from a catalog file, all or none; plans that the file lacks stay as they are')
    .argument('<file>', 'a catalog file, or - for standard input')
    .option('--json', 'print an object with the numbers of plans added and replaced')
    .option('--persist-to <dir>', 'the local state folder, as in wrangler')
    .addHelpText('after', '\nExample:\n  npm run -s ops -- catalog import src/catalog/demo.json\n')
    .action(async (file: string, options: StoreOptions & { json?: boolean }) => {
      const plans = file === '-' ? parse(await readStream(io.stdin)) : await readCatalogFile(file)
      const counts = await withLocalStore(options, (store) => importCatalog(store, plans))
      io.stdout.write(
        options.json
          ? `${JSON.stringify(counts)}\n`
          : `Imported ${plans.length} plans: ${counts.added} added, ${counts.replaced} replaced.\n`,
      )
    })

  catalog
    .command('export')
    .description('print the catalog as a file that import reads back unchanged')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .option('--json', 'accepted for symmetry: a catalog file is always JSON')
    .option('--persist-to <dir>', 'the local state folder, as in wrangler')
    .addHelpText('after', '\nExample:\n  npm run -s ops -- catalog export --country KE > kenya.json\n')
    .action(async ({ country, ...options }: StoreOptions & { country?: string }) => {
      const { error } = countryCode.optional().safeParse(country)
      if (error)
        throw new UserError(`--country has to be ${error.issues[0]?.message}; it is ${JSON.stringify(country)}.`)
      const plans = await withLocalStore(options, ({ d1 }) => selectCatalog(openDatabase(d1), country))
      io.stdout.write(formatCatalog(plans))
    })
}

/**
 * Writes the plans in one transaction, then deletes the plan lists that KV holds of the old ones.
 * @throws UserError when a plan would change the identity of one that is there.
 */
export async function importCatalog({ d1, kv }: Store, plans: readonly CatalogPlan[]) {
  const existing = await selectPlanKeys(openDatabase(d1))
  const conflicts = findIdentityConflicts(plans, existing)
  if (conflicts.length > 0) throw new UserError(...conflicts, 'Nothing was imported.')

  await runStatements(d1, replacePlansStatements(plans))
  await deletePlanLists(kv)
  const ids = new Set(existing.map(({ id }) => id))
  const replaced = plans.filter(({ id }) => ids.has(id)).length
  return { added: plans.length - replaced, replaced }
}

/** The identifier of a plan is stable: it stays with its ID. */
function findIdentityConflicts(plans: readonly CatalogPlan[], existing: readonly PlanKey[]): string[] {
  const identifiers = new Map(existing.map(({ id, identifier }) => [id, identifier]))
  const ids = new Map(existing.map(({ id, identifier }) => [identifier, id]))
  return plans.flatMap(({ id, identifier }) => {
    const knownIdentifier = identifiers.get(id) ?? identifier
    const knownId = ids.get(identifier) ?? id
    const conflicts: string[] = []
    if (knownIdentifier !== identifier)
      conflicts.push(`Plan "${identifier}": id: ${id} is plan "${knownIdentifier}" in the catalog.`)
    if (knownId !== id)
      conflicts.push(`Plan "${identifier}": id: it is ${knownId} in the catalog, and ${id} in the file.`)
    return conflicts
  })
}

/** Only lists of the old catalog are outdated; partners' entries stay. */
async function deletePlanLists(kv: KVNamespace): Promise<void> {
  let cursor: string | null = null
  do {
    const page: KVNamespaceListResult<unknown> = await kv.list({ prefix: planListKeyPrefix, cursor })
    await Promise.all(page.keys.map(({ name }) => kv.delete(name)))
    cursor = page.list_complete ? null : page.cursor
  } while (cursor !== null)
}

/** @throws UserError with a line for every defect of the file. */
function parse(bytes: Uint8Array): CatalogPlan[] {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError('The file is not UTF-8. Nothing was imported.')
  }
  const result = parseCatalog(text)
  if (result.kind === 'invalid') throw new UserError(...result.defects, 'Nothing was imported.')
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
