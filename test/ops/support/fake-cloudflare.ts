// The account in a box for the tests of the command line: its database and namespace are the test's own, its Worker
// doesn't run.
import { cp, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { accountId, apiToken, startAccount, type Account } from '../../account/account.ts'
import { addDatabase } from '../../account/d1-api.ts'
import { addNamespace } from '../../account/kv-api.ts'
import { setBindingId } from '../../account/project-copy.ts'
import { useStores } from '../../account/stores.ts'
import { addVersion, createWorker, deployVersions } from '../../account/workers.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import type { Bindings } from './memory-bindings.ts'

export type { Outage } from '../../account/d1-api.ts'

const databaseId = '00000000-0000-4000-8000-000000000001'
const namespaceId = 'b'.repeat(32)
const workerName = 'partner-investment-plan-catalog-staging'
const project = resolve(import.meta.dirname, '../../..')

/**
 * Starts the account before the first test of a file, and works in a folder whose wrangler.toml has the IDs of staging.
 * The variables that lead there are set before each test.
 */
export function useFakeCloudflare(bindings: () => Bindings): () => Account {
  let fake: Account | undefined
  const setVariables = () => {
    // Half of the pause before a retry is random: this number makes it 0.
    vi.spyOn(Math, 'random').mockReturnValue(-1)
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', fake?.url)
    vi.stubEnv('CLOUDFLARE_API_TOKEN', apiToken)
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', accountId)
  }
  beforeAll(async () => {
    fake = await startAccount(useStores(bindings()))
    const database = addDatabase(fake, databaseId, workerName)
    Object.assign(database, { primary_location_hint: 'weur', read_replication: { mode: 'auto' } })
    addNamespace(fake.namespaces, namespaceId, workerName)
    const folder = await createFolder(afterAll)
    const config = await readFile(join(project, 'wrangler.toml'), 'utf8')
    const withDatabase = setBindingId(config, 'staging', 'DB', databaseId)
    const withIds = setBindingId(withDatabase, 'staging', 'CATALOG_CACHE', namespaceId)
    await writeFile(join(folder, 'wrangler.toml'), withIds)
    await cp(join(project, 'package.json'), join(folder, 'package.json'))
    for (const name of ['migrations', 'node_modules', 'src']) await symlink(join(project, name), join(folder, name))
    process.chdir(folder)
    setVariables()
  })
  beforeEach(setVariables)
  afterAll(async () => {
    process.chdir(project)
    vi.unstubAllEnvs()
    await fake?.close()
  })
  return () => {
    if (fake === undefined) throw new Error('the server has not started yet')
    return fake
  }
}

/** Replaces the Worker of staging by one with these secrets. @returns the Worker, and its version. */
export function deployWorker({ workers }: Account, ...secrets: string[]) {
  const worker = createWorker()
  const bindings = secrets.map((name) => ({ name, type: 'secret_text', text: 'x' }))
  const version = addVersion(worker, { compatibilityDate: '2026-10-23', bindings, annotations: {} })
  deployVersions(worker, [{ version_id: version.id, percentage: 100 }])
  workers.set(workerName, worker)
  return { worker, version }
}
