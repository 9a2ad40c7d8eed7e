// The Workers of an account: versions, and deployments that name them.
import { randomUUID } from 'node:crypto'
import { Refusal } from './api.ts'

export type Binding = { name: string; type: string } & Record<string, unknown>

/** What an upload says, besides the code and the site, which don't run here. A version never changes. */
export interface Upload {
  compatibilityDate: string
  bindings: Binding[]
  annotations: Record<string, string>
}

export interface Version extends Upload {
  id: string
  number: number
  createdAt: string
}

export interface Share {
  version_id: string
  percentage: number
}

interface Deployment {
  id: string
  created_on: string
  source: string
  strategy: 'percentage'
  author_email: string
  annotations: Record<string, string>
  versions: Share[]
}

export interface Worker {
  tag: string
  tags: string[]
  /** The latest version and deployment are the last. */
  versions: Version[]
  deployments: Deployment[]
  crons: string[]
  subdomain: { enabled: boolean; previews_enabled: boolean }
}

export type Workers = Map<string, Worker>

export const authorEmail = 'owner@example.com'

export function createWorker(): Worker {
  return {
    tag: randomUUID().replaceAll('-', ''),
    tags: [],
    versions: [],
    deployments: [],
    crons: [],
    subdomain: { enabled: false, previews_enabled: false },
  }
}

/** @param code the error code of the API for an unknown Worker: scripts and services have different ones. */
export function findWorker(workers: Workers, name: string, code = 10007): Worker {
  const worker = workers.get(name)
  if (worker === undefined) throw new Refusal(404, code, 'This Worker does not exist on your account.')
  return worker
}

export function findVersion({ versions }: Worker, id: string): Version {
  const version = versions.find((one) => one.id === id)
  if (version === undefined) throw new Refusal(404, 10021, `The version ${id} does not exist.`)
  return version
}

export function addVersion(worker: Worker, upload: Upload): Version {
  const version = {
    ...upload,
    id: randomUUID(),
    number: worker.versions.length + 1,
    createdAt: new Date().toISOString(),
  }
  worker.versions.push(version)
  return version
}

/** @throws Refusal unless the versions exist and get all requests. */
export function deployVersions(
  worker: Worker,
  shares: readonly Share[],
  annotations: Record<string, string> = {},
): Deployment {
  const total = shares.reduce((sum, { percentage }) => sum + percentage, 0)
  if (total !== 100) throw new Refusal(400, 10021, 'The percentages of a deployment must add up to 100.')
  for (const { version_id: id } of shares) findVersion(worker, id)
  const deployment: Deployment = {
    id: randomUUID(),
    created_on: new Date().toISOString(),
    source: 'wrangler',
    strategy: 'percentage',
    author_email: authorEmail,
    annotations,
    versions: [...shares],
  }
  worker.deployments.push(deployment)
  return deployment
}

/** The version that a change of secrets is based on: the latest, which must get all requests. */
export function findEditableVersion(worker: Worker): Version {
  const latest = worker.versions.at(-1)
  const shares = worker.deployments.at(-1)?.versions ?? []
  if (latest && shares.length === 1 && shares[0]?.version_id === latest.id) return latest
  throw new Refusal(400, 10215, "The latest version of your Worker isn't currently deployed.")
}
