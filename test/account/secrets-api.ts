// The secrets of a Worker. Each change makes a version and deploys it.
import { isJsonObject } from '../../src/json.ts'
import { readJson, type Call, type Routes } from './api.ts'
import { addVersion, deployVersions, findEditableVersion, findWorker, type Workers } from './workers.ts'

export function createSecrets(workers: Workers): Routes {
  const list = (name: string) => {
    const { bindings = [] } = findWorker(workers, name).versions.at(-1) ?? {}
    return bindings
      .filter(({ type }) => type === 'secret_text')
      .map(({ name: secret, type }) => ({ name: secret, type }))
  }

  /** @param changes the new texts; null deletes a secret. */
  const change = (name: string, changes: ReadonlyMap<string, string | null>) => {
    const worker = findWorker(workers, name)
    const latest = findEditableVersion(worker)
    const bindings = latest.bindings.filter((binding) => !changes.has(binding.name))
    for (const [secret, text] of changes) {
      if (text !== null) bindings.push({ name: secret, type: 'secret_text', text })
    }
    const version = addVersion(worker, { ...latest, bindings, annotations: { 'workers/triggered_by': 'secret' } })
    deployVersions(worker, [{ version_id: version.id, percentage: 100 }], version.annotations)
  }

  const patch = (call: Call, name: string) => {
    const { secrets } = readJson(call)
    const entries = Object.entries(isJsonObject(secrets) ? secrets : {})
    const readText = (value: unknown) => (isJsonObject(value) ? String(value['text']) : null)
    change(name, new Map(entries.map(([secret, value]) => [secret, readText(value)])))
    return {}
  }

  return {
    'GET /workers/scripts/:name/secrets': (_, name = '') => list(name),
    'PATCH /workers/scripts/:name/secrets-bulk': (call, name = '') => patch(call, name),
  }
}
