// Workers: uploads, versions, deployments, schedules and the workers.dev subdomain.
import { readJson, Refusal, type Call, type Routes } from './api.ts'
import { readUpload, type Resources } from './read-upload.ts'
import { addVersion, authorEmail, createWorker, deployVersions, findVersion, findWorker } from './workers.ts'
import { readSecrets, type Services, type Share, type Version, type Worker, type Workers } from './workers.ts'

export function createWorkersApi(workers: Workers, services: Services, resources: Resources): Routes {
  const find = (name: string) => findWorker(workers, name)

  /** The call that creates a Worker. Later deploys upload a version and deploy it. */
  const putScript = async (call: Call, name: string) => {
    const worker = workers.get(name) ?? createWorker(name, call.userAgent)
    const version = addVersion(worker, await readUpload(call, worker.versions.at(-1), resources))
    await deployVersions(services, worker, [{ version_id: version.id, percentage: 100 }], version.annotations)
    workers.set(name, worker)
    return { id: name, tag: worker.tag, etag: version.id, deployment_id: version.id, startup_time_ms: 1 }
  }

  const postVersion = async (call: Call, name: string) => {
    const worker = find(name)
    return describeVersion(addVersion(worker, await readUpload(call, worker.versions.at(-1), resources)))
  }

  const postDeployment = async (call: Call, name: string) => {
    const worker = find(name)
    const { versions, annotations = {} } = readJson(call)
    const shares = versions as Share[]
    if (call.query.get('force') !== 'true') refuseOldSecrets(worker, shares)
    return deployVersions(services, worker, shares, annotations as Record<string, string>)
  }

  const getService = (name: string) => {
    const { tag, tags, lastDeployedFrom } = findWorker(workers, name, 10090)
    const script = { id: name, tag, tags, last_deployed_from: lastDeployedFrom }
    return { id: name, default_environment: { environment: 'production', script } }
  }

  const patchSettings = (call: Call, name: string) => {
    const { tags } = readJson(call)
    if (Array.isArray(tags)) find(name).tags = tags.map(String)
    return {}
  }

  const getSubdomain = () => {
    const { subdomain } = resources.dashboard
    if (subdomain === undefined) throw new Refusal(404, 10007, 'You do not have a workers.dev subdomain.')
    return { subdomain }
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
    'GET /workers/subdomain': getSubdomain,
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
    'GET /workers/scripts/:name/subdomain': (_, name = '') => find(name).subdomain,
    'POST /workers/scripts/:name/subdomain': (call, name = '') => postSubdomain(call, name),
    'GET /workers/scripts/:name/schedules': (_, name = '') => ({
      schedules: find(name).crons.map((cron) => ({ cron })),
    }),
    'PUT /workers/scripts/:name/schedules': (call, name = '') => putSchedules(call, name),
  }
}

/** A version has the secrets of its time. To go back to others, wrangler must ask, and then force it. */
function refuseOldSecrets({ versions, deployments }: Worker, shares: readonly Share[]): void {
  const current = versions.find(({ id }) => id === deployments.at(-1)?.versions[0]?.version_id)
  if (current === undefined) return
  const now = readSecrets(current.bindings)
  const older = versions.filter(
    ({ id, number }) => number < current.number && shares.some((one) => one.version_id === id),
  )
  const changed = older.flatMap(({ bindings }) => {
    const then = readSecrets(bindings)
    return [...new Set([...now.keys(), ...then.keys()])].filter((name) => now.get(name) !== then.get(name))
  })
  if (changed.length > 0) {
    throw new Refusal(400, 10220, `The following secrets have changed: ${[...new Set(changed)].join(', ')}`)
  }
}

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
