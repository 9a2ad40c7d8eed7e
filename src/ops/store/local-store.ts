// Opens the local D1 and KV: the files of `wrangler dev`, also while `wrangler dev` runs.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { createOperatorDatabase, unwrapQueryError } from '../../db/operator-database.ts'
import { describeMigrate, outdatedSchema, quoteWords, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { getCauseMessage, isCausedBy, localBusy } from './failure.ts'
import { readLocalVariables } from './dev-vars.ts'
import { retry } from './retry.ts'
import { listBindingKeys, type Store } from './store.ts'
import { describeSystemError } from './system-error.ts'
import { getStoreIds, readWranglerConfig, type WranglerConfig } from './wrangler-toml.ts'
import { listMigrationFiles } from './wrangler.ts'

/** Calls `work` with the local store. @throws UserError when the database is missing, otherwise as `withRuntime`. */
export async function withLocalStore<T>(target: Target, work: (store: Store) => Promise<T>): Promise<T> {
  const { folder, migrateCommand } = locateState(target)
  if (!existsSync(resolve(folder, 'v3/d1'))) {
    throw new UserError([
      `There is no local database in ${folder}. If npm run dev uses --persist-to, pass the same folder.`,
      `Otherwise create it: ${migrateCommand}`,
    ])
  }
  return withRuntime(target, (_, store) => work(store))
}

/** Creates the database, or applies the migrations that it lacks, before `work`. `appliedFiles` are the migrations that were applied now. @throws UserError when a migration fails, otherwise as `withRuntime`. */
export function withMigratedStore<T>(
  target: Target,
  work: (store: Store, appliedFiles: string[]) => Promise<T>,
): Promise<T> {
  return withRuntime(target, async (d1, store) => work(store, await applyMigrations(d1, target)))
}

function locateState({ persistTo, ...target }: Target) {
  const folder = resolve(persistTo ?? '.wrangler/state')
  const migrateCommand = describeMigrate({ ...target, ...(persistTo !== undefined && { persistTo: folder }) })
  return { folder, migrateCommand }
}

/** Opens D1 and KV for `work`, and closes them afterwards. @throws UserError for a wrong wrangler.toml or .dev.vars, and for a database that is not migrated or can't be used. */
async function withRuntime<T>(target: Target, work: (d1: Runtime['db'], store: Store) => Promise<T>): Promise<T> {
  const { folder, migrateCommand } = locateState(target)
  const config = await readWranglerConfig()
  try {
    // A retry helps when two programs start at the same time: both create the same files, and one of them fails.
    const { db, kv, close } = await retry(() => openRuntime(config, resolve(folder, 'v3')))
    try {
      return await work(db, { target, ...openBindings(db, kv), config: await readLocalVariables(config) })
    } finally {
      await close()
    }
  } catch (thrownError) {
    const error = unwrapQueryError(thrownError)
    if (error instanceof UserError) throw error
    if (isCausedBy(error, outdatedSchema)) {
      throw new UserError([`The local database in ${folder} is not migrated.`, `Run: ${migrateCommand}`])
    }
    // CONSTRAINT and ERROR come from a statement. Other codes, such as SQLITE_FULL, come from the files.
    const isSqliteFileError = isCausedBy(error, localBusy) || isCausedBy(error, /SQLITE_(?!CONSTRAINT|ERROR)/)
    const isSystemError = describeSystemError(error) !== undefined
    if (!isSqliteFileError && !isSystemError) throw error
    throw new UserError([
      `The local state in ${folder} can't be used: ${getCauseMessage(error)}. If npm run dev uses it, try again.`,
      'If the disk is full, or the folder can’t be written, change that, and try again.',
      `Otherwise move the folder away, and create a new one: ${migrateCommand}`,
    ])
  }
}

/** Creates the table of applied migrations exactly as wrangler does, because wrangler reads the table, too. */
const migrationsTableSql = `create table if not exists d1_migrations
  (id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null)`

/** Applies the migrations that the database lacks, without wrangler, which takes seconds to start. @returns their file names. @throws UserError when one can't be applied. */
async function applyMigrations(d1: Runtime['db'], target: Target): Promise<string[]> {
  const runSql = (text: string) => retry(() => d1.prepare(text).run<{ name: string }>())
  await runSql(migrationsTableSql)
  const listApplied = async () => (await runSql('select name from d1_migrations')).results.map(({ name }) => name)
  const earlierFiles = await listApplied()
  const appliedFiles: string[] = []
  for (const file of (await listMigrationFiles()).filter((name) => !earlierFiles.includes(name))) {
    const text = await readFile(resolve('migrations', file), 'utf8')
    try {
      // One call is one transaction: the table lists a migration if and only if it was applied.
      await runSql(`insert into d1_migrations (name) values ('${file}');\n${text}`)
      appliedFiles.push(file)
    } catch (error) {
      // Another program applied this migration first.
      if ((await listApplied()).includes(file)) continue
      if (isCausedBy(error, localBusy)) throw error
      throw new UserError([
        `The local database can't be migrated: ${getCauseMessage(error)}.`,
        `To start afresh, delete the local state: rm -r ${quoteWords([resolve(locateState(target).folder, 'v3')])}`,
      ])
    }
  }
  return appliedFiles
}

/** Starts the local runtime of Cloudflare, with an empty Worker, on the files of `wrangler dev`. @param folder the folder of the files. */
async function openRuntime(config: WranglerConfig, folder: string) {
  // Not imported at the top: a remote command starts quicker without miniflare.
  const { Miniflare } = await import('miniflare')
  const { databaseId = 'DB', namespaceId = 'CATALOG_CACHE' } = getStoreIds(config)
  const name = 'command-line'
  const miniflare = new Miniflare({
    resourcePersistencePath: folder,
    // Prints nothing: the runtime would print each error of SQLite with a stack, even if a retry succeeds.
    handleStructuredLogs: () => {},
    cf: false,
    // Registers nothing in the home folder.
    enableDevRegistry: false,
    workers: [
      {
        config: {
          name,
          compatibilityDate: config.compatibility_date,
          manifest: {
            mainModule: 'index.js',
            modules: { 'index.js': { type: 'esm', contents: 'export default {}' } },
          },
          env: { DB: { type: 'd1', id: databaseId }, CATALOG_CACHE: { type: 'kv', id: namespaceId } },
        },
      },
    ],
  })
  try {
    const [db, kv] = await Promise.all([
      miniflare.getD1Database('DB', name),
      miniflare.getKVNamespace('CATALOG_CACHE', name),
    ])
    return { db, kv, close: () => miniflare.dispose() }
  } catch (error) {
    await miniflare.dispose()
    throw error
  }
}

type Runtime = Awaited<ReturnType<typeof openRuntime>>

function openBindings(d1: Runtime['db'], kv: Runtime['kv']): Omit<Store, 'target' | 'config'> {
  return {
    changes: { outcome: 'unchanged' },
    db: createOperatorDatabase(({ sql, params }) => {
      const statement = d1.prepare(sql).bind(...params)
      return retry(() => statement.raw())
    }),
    listKeys: (prefix) => retry(() => listBindingKeys(kv, prefix)),
    putKeys: async (names, metadata, expirationTtl) => {
      for (const name of names) await retry(() => kv.put(name, '', { metadata, expirationTtl }))
    },
    askServerTimeMs: async () => Date.now(),
  }
}
