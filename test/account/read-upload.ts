// Reads the multipart form that wrangler uploads a Worker with: metadata, modules and source maps.
import { isJsonObject } from '../../src/json.ts'
import { readForm, Refusal, type Call } from './api.ts'
import type { SiteConfig } from './assets-api.ts'
import type { D1Account } from './d1-api.ts'
import type { Dashboard } from './dashboard.ts'
import type { Namespaces } from './kv-api.ts'
import type { Binding, Module, Upload, Version } from './workers.ts'

/** What the bindings and the site of an upload must name. */
export interface Resources {
  dashboard: Dashboard
  d1: D1Account
  namespaces: Namespaces
  findFiles: (completion: string) => Map<string, Uint8Array>
}

interface Metadata {
  main_module?: string
  bindings?: Binding[]
  keep_bindings?: string[]
  compatibility_date?: string
  compatibility_flags?: string[]
  annotations?: Record<string, string>
  assets?: { jwt: string; config?: SiteConfig }
  limits?: { cpu_ms?: number }
}

const moduleTypes: Record<string, Module['type']> = {
  'application/javascript+module': 'esm',
  'text/plain': 'text',
  'application/octet-stream': 'data',
  'application/wasm': 'wasm',
}

/** @param latest the version from which bindings are inherited. */
export async function readUpload(call: Call, latest: Version | undefined, resources: Resources): Promise<Upload> {
  const form = await readForm(call)
  const text = form.get('metadata')
  const metadata: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
  if (!isJsonObject(metadata)) throw new Refusal(400, 10021, 'The form has no metadata.')
  const { main_module: mainModule, assets, ...rest } = metadata as Metadata
  const modules: Record<string, Module> = {}
  let hasSourceMap = false
  for (const [name, file] of form) {
    if (typeof file === 'string') continue
    const type = moduleTypes[file.type]
    if (file.type === 'application/source-map') hasSourceMap = true
    else if (type === undefined) throw new Refusal(400, 10021, `The module ${name} has the type ${file.type}.`)
    else
      modules[name] = { type, contents: type === 'esm' || type === 'text' ? await file.text() : await readBytes(file) }
  }
  refuseOptIns(rest, resources.dashboard)
  if (mainModule === undefined || !modules[mainModule]) throw new Refusal(400, 10021, 'The form has no main module.')
  return {
    mainModule,
    modules,
    hasSourceMap,
    compatibilityDate: rest.compatibility_date ?? '2021-11-02',
    compatibilityFlags: rest.compatibility_flags ?? [],
    bindings: readBindings(rest, latest, resources),
    site: assets && { files: resources.findFiles(assets.jwt), config: assets.config ?? {} },
    annotations: rest.annotations ?? {},
  }
}

/** What an account has only after its owner paid or asked for it. */
function refuseOptIns({ limits, bindings = [] }: Metadata, { hasPaidPlan, hasAnalyticsEngine }: Dashboard): void {
  const dashboard = 'https://dash.cloudflare.com/…/workers'
  if (limits?.cpu_ms !== undefined && !hasPaidPlan) {
    const message = `CPU limits are not supported for the Free plan. Switch to a paid plan at ${dashboard}/plans to set CPU limits.`
    throw new Refusal(400, 100328, message)
  }
  if (bindings.some(({ type }) => type === 'analytics_engine') && !hasAnalyticsEngine) {
    const message = `You need to enable Analytics Engine. Head to the Cloudflare Dashboard to enable: ${dashboard}/analytics-engine`
    throw new Refusal(403, 10089, message)
  }
}

async function readBytes(file: File): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await file.arrayBuffer())
}

/** Resolves bindings of the type `inherit`, and adds those that the upload keeps. */
function readBindings(metadata: Metadata, latest: Version | undefined, { d1, namespaces }: Resources): Binding[] {
  const { bindings = [], keep_bindings: kept = [] } = metadata
  const named = bindings.map((binding) => {
    if (binding.type !== 'inherit') return binding
    const inherited = latest?.bindings.find(({ name }) => name === binding.name)
    if (inherited) return inherited
    throw new Refusal(400, 10057, `inherit binding '${binding.name}' is invalid: the previous version does not have it`)
  })
  const names = new Set(named.map(({ name }) => name))
  for (const { type, name, id, namespace_id: namespaceId } of named) {
    if (type === 'd1' && !d1.databases.has(String(id))) {
      throw new Refusal(400, 10021, `binding ${name} of type d1 must have a valid \`id\` specified`)
    }
    if (type === 'kv_namespace' && !namespaces.has(String(namespaceId))) {
      throw new Refusal(400, 10041, `KV namespace '${String(namespaceId)}' not found.`)
    }
  }
  return [...named, ...(latest?.bindings ?? []).filter(({ name, type }) => kept.includes(type) && !names.has(name))]
}
