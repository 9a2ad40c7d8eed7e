// The secrets of a Worker. Each change makes a version and deploys it.
import { isJsonObject } from '../../src/json.ts'
import { readJson, type Call, type Routes } from './api.ts'
import { addVersion, deployVersions, findEditableVersion, findWorker, readSecrets } from './workers.ts'
import type { Services, Workers } from './workers.ts'

export function createSecrets(workers: Workers, services: Services): Routes {
  const list = (name: string) => {
    const { bindings = [] } = findWorker(workers, name).versions.at(-1) ?? {}
    return [...readSecrets(bindings).keys()].map((secret) => ({ name: secret, type: 'secret_text' }))
  }

  /** @param changes the new texts; null deletes a secret. */
  const change = async (name: string, changes: ReadonlyMap<string, string | null>) => {
    const worker = findWorker(workers, name)
    const latest = findEditableVersion(worker)
    const bindings = latest.bindings.filter((binding) => !changes.has(binding.name))
    for (const [secret, text] of changes) {
      if (text !== null) bindings.push({ name: secret, type: 'secret_text', text })
    }
    const version = addVersion(worker, { ...latest, bindings, annotations: { 'workers/triggered_by': 'secret' } })
    await deployVersions(services, worker, [{ version_id: version.id, percentage: 100 }], version.annotations)
  }

  const put = async (call: Call, name: string) => {
    const { name: secret, text } = readJson(call)
    await change(name, new Map([[String(secret), String(text)]]))
    return { name: secret, type: 'secret_text' }
  }

  const patch = async (call: Call, name: string) => {
    const { secrets } = readJson(call)
    const entries = Object.entries(isJsonObject(secrets) ? secrets : {})
    const readText = (value: unknown) => (isJsonObject(value) ? String(value['text']) : null)
    await change(name, new Map(entries.map(([secret, value]) => [secret, readText(value)])))
    return {}
  }

  const remove = async (name: string, secret: string) => {
    await change(name, new Map([[decodeURIComponent(secret), null]]))
    return null
  }

  return {
    'GET /workers/scripts/:name/secrets': (_, name = '') => list(name),
    'PUT /workers/scripts/:name/secrets': (call, name = '') => put(call, name),
    'PATCH /workers/scripts/:name/secrets-bulk': (call, name = '') => patch(call, name),
    'DELETE /workers/scripts/:name/secrets/:secret': (_, name = '', secret = '') => remove(name, secret),
  }
}
