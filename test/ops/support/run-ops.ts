// The operators' command line in this process, on a local state of the test file's own. Node only.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll } from 'vitest'
import { getPlatformProxy, type PlatformProxy } from 'wrangler'
import { formatCatalog } from '../../../src/catalog/catalog-file.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { openStore } from '../../../src/ops/store/local-store.ts'
import { runOps } from '../../../src/ops/commands/program.ts'
import { withStore } from '../../../src/ops/store/open-store.ts'

export const state = await mkdtemp(join(tmpdir(), 'catalog-'))

let proxy: PlatformProxy<Env> | undefined

/** To be called once in a test file: a migrated database for its tests, which stays open between them. */
export function useLocalState(): void {
  beforeAll(async () => {
    await promisify(execFile)('npm', ['run', '-s', 'migrate', '--', '--local', '--persist-to', state])
    proxy = await getPlatformProxy<Env>({ persist: { path: join(state, 'v3') }, remoteBindings: false })
  })
  afterAll(async () => {
    await proxy?.dispose()
    await rm(state, { recursive: true })
  })
}

/** The bindings of the local state. */
export function bindings(): Env {
  if (proxy === undefined) throw new Error('useLocalState() is missing')
  return proxy.env
}

interface Terminal {
  stdin?: string
  isTTY?: boolean
  /** Forever unless given: how long a machine takes is no matter of a test. */
  patienceMs?: number
  /** What somebody else does once the command has read what it goes by. */
  beforeFirstWrite?: () => Promise<unknown>
}

/** Runs a command line. With `isTTY` its stdin is a terminal where somebody types. */
export async function ops(
  args: readonly string[],
  { stdin = '', isTTY = false, patienceMs = Infinity, beforeFirstWrite }: Terminal = {},
) {
  let [stdout, stderr] = ['', '']
  async function* read() {
    yield stdin
  }
  const code = await runOps(args, {
    stdin: Object.assign(read(), { isTTY }),
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text), isTTY },
    patienceMs,
    withStore: (target, work) => {
      if (target.persistTo !== state) return withStore(target, work)
      const store = openStore(bindings())
      let meanwhile = beforeFirstWrite
      const write: typeof store.write = async (statements) => {
        const happens = meanwhile
        meanwhile = undefined
        await happens?.()
        await store.write(statements)
      }
      return work({ ...store, write })
    },
  })
  return { code, stdout, stderr }
}

export const onState = (...args: string[]) => ops([...args, '--persist-to', state])

export async function readJson<T>(...args: string[]): Promise<T> {
  const { stdout } = await onState(...args, '--json')
  return JSON.parse(stdout) as T
}

export const createPartner = (shortName: string, country = 'KE') =>
  readJson<{ clientId: string; clientSecret: string }>(
    'partner',
    'create',
    `--short-name=${shortName}`,
    '--name=Acme "Wallet"',
    `--country=${country}`,
  )

export const importPlans = (plans: CatalogPlan[], ...args: string[]) =>
  ops(['catalog', 'import', '-', ...args, '--persist-to', state], { stdin: formatCatalog(plans) })

export async function emptyDatabase(): Promise<void> {
  const { DB } = bindings()
  const tables = ['partner_secrets', 'partners', 'plan_viewability', 'plan_minimums', 'plans']
  await DB.batch(tables.map((table) => DB.prepare(`delete from ${table}`)))
}

/** Fills the cache, does something, and says which keys are left. */
export async function keysLeftAfter(keys: string[], work: () => Promise<unknown>): Promise<string[]> {
  const kv = bindings().CATALOG_CACHE
  for (const key of keys) await kv.put(key, 'old')
  await work()
  const left = (await kv.list()).keys.map(({ name }) => name)
  for (const key of left) await kv.delete(key)
  return left
}
