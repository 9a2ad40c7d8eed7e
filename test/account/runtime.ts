// Runs what was deployed: the uploaded code and site in workerd, on the databases and namespaces of the account.
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Miniflare, type WorkerOptions } from 'miniflare'
import { startFront, type Front, type FrontOptions } from './front.ts'
import { startRecorder, wrapModule, type Analytics, type Recorder } from './analytics.ts'
import type { Stores } from './stores.ts'
import { createTimeTravel, type TimeTravel } from './time-travel.ts'
import type { Binding, Services, Version } from './workers.ts'

type Environment = NonNullable<WorkerOptions['config']['env']>

export interface Runtime extends Stores, Services {
  /** The loopback address of a Worker, in the place of `https://NAME.SUBDOMAIN.workers.dev` or of a custom domain. */
  getUrl: (name: string, domain?: FrontOptions & { host: string }) => Promise<string>
  /** Runs the Cron Trigger of a Worker, as Cloudflare does every minute. */
  runSchedule: (name: string) => Promise<void>
  recorder: Recorder
  /** Ends the time in which the deployment before answers some requests. */
  finishSpread: () => void
  close: () => Promise<void>
}

interface Share {
  version: Version
  percentage: number
}

interface Served {
  shares: readonly Share[]
  /** The deployment before, and how many requests it still answers. */
  before: readonly Share[]
  lateRequests: number
}

/** A deployment takes seconds to reach every location. More requests than a smoke test makes when it doesn't wait. */
const maxLateRequests = 15

/** The Worker that has every database and namespace, for the API. */
const owner = 'account'

export async function startRuntime(analytics: Analytics): Promise<Runtime> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-account-'))
  const recorder = await startRecorder(analytics)
  const databaseFolder = join(folder, 'resources/d1/miniflare-D1DatabaseObject')
  const databases = new Map<string, TimeTravel>()
  const served = new Map<string, Served>()
  const fronts = new Map<string, Front>()
  const stores: Environment = {}
  let miniflare: Miniflare | undefined

  const describeWorkers = () => [
    describeWorker(owner, { mainModule: 'index.js', modules: emptyModule, env: stores }),
    ...listVersions().map((version) => describeVersion(version, join(folder, 'sites', version.id), recorder.url)),
  ]

  const listVersions = () => {
    const shares = [...served.values()].flatMap((deployment) => [...deployment.shares, ...deployment.before])
    return [...new Set(shares.map(({ version }) => version))]
  }

  const start = async () => {
    const options = {
      resourcePersistencePath: join(folder, 'resources'),
      handleStructuredLogs: () => {},
      workers: describeWorkers(),
    }
    if (miniflare) await miniflare.setOptions(options)
    else miniflare = new Miniflare(options)
    await miniflare.ready
    return miniflare
  }

  const stop = async () => {
    await miniflare?.dispose()
    miniflare = undefined
  }

  const getMiniflare = async () => miniflare ?? start()

  const openDatabase = async (id: string) => {
    const db: unknown = await (await getMiniflare()).getD1Database(id, owner)
    return db as D1Database
  }

  const listFiles = () => readdir(databaseFolder).catch((): string[] => [])

  const serve = async (name: string, shares: readonly Share[]) => {
    for (const { version } of shares) await writeSite(version, join(folder, 'sites', version.id))
    const before = served.get(name)
    served.set(name, { shares, before: before?.shares ?? [], lateRequests: maxLateRequests })
    try {
      await start()
    } catch (error) {
      if (before) served.set(name, before)
      else served.delete(name)
      await stop()
      throw error
    }
  }

  /**
   * A request goes to the version that it asks for, or to one by the percentages: exactly, in each hundred requests. Where the
   * deployment is not known yet, the version that it asks for isn't either.
   */
  let requests = 0
  const findVersionUrl = async (name: string, wanted: unknown) => {
    const deployment = served.get(name)
    if (deployment === undefined) return undefined
    const shares = deployment.lateRequests-- > 0 ? deployment.before : deployment.shares
    const id = typeof wanted === 'string' ? new RegExp(`\\b${name}="([\\w-]+)"`).exec(wanted)?.[1] : undefined
    let rest = (++requests * 61) % 100
    const share = shares.find(({ version }) => version.id === id) ?? shares.find((one) => (rest -= one.percentage) < 0)
    return share && (await getMiniflare()).unsafeGetDirectURL(share.version.id)
  }

  return {
    recorder,
    addDatabase: async (id) => {
      stores[id] = { type: 'd1', id }
      const before = await listFiles()
      await start()
      await (await openDatabase(id)).prepare('select 1').all()
      const file = (await listFiles()).find((name) => name.endsWith('.sqlite') && !before.includes(name))
      if (file === undefined) throw new Error('the runtime made no file for the database')
      databases.set(id, createTimeTravel(databaseFolder, file, join(folder, 'snapshots', id)))
    },
    addNamespace: async (id) => {
      stores[id] = { type: 'kv', id }
      await start()
    },
    openDatabase: async (id, { isWrite }) => {
      if (isWrite) await databases.get(id)?.snapshot()
      return openDatabase(id)
    },
    openNamespace: async (id) => {
      const kv: unknown = await (await getMiniflare()).getKVNamespace(id, owner)
      return kv as KVNamespace
    },
    findBookmark: async (id, timeMs) => databases.get(id)?.findBookmark(timeMs),
    restore: async (id, bookmark) => {
      await stop()
      return (await databases.get(id)?.restore(bookmark)) ?? false
    },
    serve,
    getUrl: async (name, domain) => {
      const key = domain?.host ?? name
      const find = (headers: IncomingHttpHeaders) =>
        findVersionUrl(name, headers['cloudflare-workers-version-overrides'])
      const front = fronts.get(key) ?? (await startFront(find, domain))
      fronts.set(key, front)
      return front.url
    },
    runSchedule: async (name) => {
      const id = served.get(name)?.shares[0]?.version.id
      const worker = await (await getMiniflare()).getWorker(id)
      await worker.scheduled({ cron: '* * * * *' })
    },
    finishSpread: () => {
      for (const deployment of served.values()) deployment.lateRequests = 0
    },
    close: async () => {
      for (const front of fronts.values()) await front.close()
      await stop()
      await recorder.close()
      await rm(folder, { recursive: true })
    },
  }
}

const emptyModule = { 'index.js': { type: 'esm' as const, contents: 'export default {}' } }

function describeWorker(
  name: string,
  { mainModule, modules, env }: { mainModule: string; modules: Version['modules']; env: Environment },
): WorkerOptions {
  return { config: { name, compatibilityDate: '2026-10-23', manifest: { mainModule, modules }, env } }
}

function describeVersion(version: Version, siteFolder: string, recorder: string): WorkerOptions {
  const { id, mainModule, modules, bindings, compatibilityDate, compatibilityFlags, site } = version
  const env = Object.fromEntries(bindings.map((binding) => [binding.name, describeBinding(binding, version)]))
  const dataset = bindings.find(({ type }) => type === 'analytics_engine')?.['dataset']
  env['RECORDER'] = { type: 'text', value: recorder }
  if (typeof dataset === 'string') env['DATASET'] = { type: 'text', value: dataset }
  const { html_handling: html, not_found_handling: notFound, run_worker_first: first } = site?.config ?? {}
  return {
    config: {
      name: id,
      compatibilityDate,
      compatibilityFlags,
      manifest: {
        mainModule: 'recorded.js',
        modules: { ...modules, 'recorded.js': { type: 'esm', contents: wrapModule(mainModule) } },
      },
      env,
      ...(site && {
        assets: {
          directory: siteFolder,
          hasUserWorker: true,
          ...(html && { htmlHandling: html }),
          ...(notFound && { notFoundHandling: notFound }),
          ...(first !== undefined && { runWorkerFirst: first }),
        },
      }),
    },
    dev: { unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }] },
  }
}

function describeBinding(binding: Binding, { id, createdAt }: Version): Environment[string] {
  const { type, text, json, namespace_id: namespace, simple } = binding
  switch (type) {
    case 'plain_text':
    case 'secret_text':
      return { type: 'text', value: String(text) }
    case 'json':
      return { type: 'json', value: json as string }
    case 'd1':
      return { type: 'd1', id: String(binding['id']) }
    case 'kv_namespace':
      return { type: 'kv', id: String(namespace) }
    case 'ratelimit':
      return { type: 'rate-limit', namespace: String(namespace), simple: simple as { limit: number; period: 60 } }
    case 'analytics_engine':
      return { type: 'analytics-engine-dataset' }
    case 'assets':
      return { type: 'assets' }
    case 'version_metadata':
      return { type: 'json', value: { id, tag: '', timestamp: createdAt } }
    default:
      throw new Error(`nothing here runs a binding of the type ${type}`)
  }
}

/** Writes the files where the runtime's own asset server reads them. */
async function writeSite({ site }: Version, folder: string): Promise<void> {
  if (site === undefined) return
  const { _headers: headers, _redirects: redirects } = site.config
  const rules = [
    ...(headers === undefined ? [] : [['_headers', headers] as const]),
    ...(redirects === undefined ? [] : [['_redirects', redirects] as const]),
  ]
  for (const [path, contents] of [...site.files, ...rules]) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), contents)
  }
}
