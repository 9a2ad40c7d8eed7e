// Workers: uploads, versions, deployments, schedules and the workers.dev subdomain.
import { isJsonObject } from '../../src/json.ts'
import { readForm, readJson, Refusal, type Call, type Routes } from './api.ts'
import type { D1Account } from './d1-api.ts'
import type { Namespaces } from './kv-api.ts'
import { addVersion, authorEmail, createWorker, deployVersions, findVersion, findWorker } from './workers.ts'
import type { Binding, Share, Upload, Version, Workers } from './workers.ts'

/** The databases and namespaces that bindings of an upload may name. */
interface Resources {
  d1: D1Account
  namespaces: Namespaces
}

export function createWorkersApi(workers: Workers, resources: Resources): Routes {
  const find = (name: string) => findWorker(workers, name)

  /** The first deploy of a Worker creates it by this call. Later deploys upload a version, then deploy the version. */
  const putScript = async (call: Call, name: string) => {
    const worker = workers.get(name) ?? createWorker()
    const version = addVersion(worker, await readUpload(call, worker.versions.at(-1), resources))
    deployVersions(worker, [{ version_id: version.id, percentage: 100 }], version.annotations)
    workers.set(name, worker)
    return { id: name, tag: worker.tag, etag: version.id, deployment_id: version.id, startup_time_ms: 1 }
  }

  const postVersion = async (call: Call, name: string) => {
    const worker = find(name)
    return describeVersion(addVersion(worker, await readUpload(call, worker.versions.at(-1), resources)))
  }

  const postDeployment = (call: Call, name: string) => {
    const worker = find(name)
    const { versions, annotations = {} } = readJson(call)
    return deployVersions(worker, versions as Share[], annotations as Record<string, string>)
  }

  const getService = (name: string) => {
    const { tag, tags } = findWorker(workers, name, 10090)
    const script = { id: name, tag, tags, last_deployed_from: 'wrangler' }
    return { id: name, default_environment: { environment: 'production', script } }
  }

  const patchSettings = (call: Call, name: string) => {
    const { tags } = readJson(call)
    if (Array.isArray(tags)) find(name).tags = tags.map(String)
    return {}
  }

  const postSubdomain = (call: Call, name: string) => {
    const { enabled, previews_enabled: previews } = readJson(call)
    return (find(name).subdomain = { enabled: enabled === true, previews_enabled: previews === true })
  }

  const putSchedules = (call: Call, name: string) => {
    const schedules = JSON.parse(call.body.toString()) as { cron: string }[]
    find(name).crons = schedules.map(({ cron }) => cron)
    return { schedules }
  }

  const listVersions = (name: string) => ({
    items: find(name).versions.toReversed().slice(0, 100).map(describeVersion),
  })

  return {
    'GET /workers/subdomain': () => ({ subdomain: 'example' }),
    // The account has every file of the site already.
    'POST /workers/scripts/:name/assets-upload-session': () => ({ jwt: 'complete', buckets: [] }),
    'GET /workers/services/:name': (_, name = '') => getService(name),
    'GET /workers/workers/:name': (_, name = '') => ({ id: find(name).tag, name, subdomain: find(name).subdomain }),
    'PUT /workers/scripts/:name': (call, name = '') => putScript(call, name),
    'GET /workers/scripts/:name/settings': (_, name = '') => ({ bindings: hideSecrets(find(name).versions.at(-1)) }),
    'PATCH /workers/scripts/:name/script-settings': (call, name = '') => patchSettings(call, name),
    'GET /workers/scripts/:name/versions': (_, name = '') => listVersions(name),
    'POST /workers/scripts/:name/versions': (call, name = '') => postVersion(call, name),
    'GET /workers/scripts/:name/versions/:id': (_, name = '', id = '') => describeVersion(findVersion(find(name), id)),
    'GET /workers/scripts/:name/deployments': (_, name = '') => ({
      deployments: find(name).deployments.toReversed().slice(0, 10),
    }),
    'POST /workers/scripts/:name/deployments': (call, name = '') => postDeployment(call, name),
    'POST /workers/scripts/:name/subdomain': (call, name = '') => postSubdomain(call, name),
    'PUT /workers/scripts/:name/schedules': (call, name = '') => putSchedules(call, name),
  }
}

interface Metadata {
  bindings?: Binding[]
  keep_bindings?: string[]
  compatibility_date?: string
  annotations?: Record<string, string>
}

/** Reads the form that wrangler uploads a Worker with. @param latest the version from which bindings are inherited. */
async function readUpload(call: Call, latest: Version | undefined, resources: Resources): Promise<Upload> {
  const text = (await readForm(call)).get('metadata')
  const metadata: unknown = typeof text === 'string' ? JSON.parse(text) : undefined
  if (!isJsonObject(metadata)) throw new Refusal(400, 10021, 'The form has no metadata.')
  const { compatibility_date: date = '2021-11-02', annotations = {}, ...rest }: Metadata = metadata
  return { compatibilityDate: date, bindings: readBindings(rest, latest, resources), annotations }
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

/** Returns a version as the API shows it. */
function describeVersion(version: Version) {
  const { id, number, createdAt, compatibilityDate, annotations } = version
  const script = { etag: id, handlers: ['fetch', 'scheduled'], last_deployed_from: 'wrangler' }
  return {
    id,
    number,
    startup_time_ms: 1,
    metadata: { created_on: createdAt, modified_on: createdAt, source: 'wrangler', author_email: authorEmail },
    annotations,
    resources: {
      script,
      script_runtime: { compatibility_date: compatibilityDate, usage_model: 'standard' },
      bindings: hideSecrets(version),
    },
  }
}

function hideSecrets(version: Version | undefined): object[] {
  return (version?.bindings ?? []).map(({ text, ...rest }) => (rest.type === 'secret_text' ? rest : { text, ...rest }))
}
