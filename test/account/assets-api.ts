// The files of a site: a session per upload, which asks only for files that the account does not have yet.
import { randomUUID } from 'node:crypto'
import { isJsonObject } from '../../src/json.ts'
import { readForm, readJson, Refusal, type Call, type Routes } from './api.ts'

/** The uploaded files by path, and what the upload of the Worker says about them. */
export interface Site {
  files: Map<string, Uint8Array>
  config: SiteConfig
}

/** As wrangler sends it: `_headers` and `_redirects` are the texts of those files. */
export interface SiteConfig {
  html_handling?: 'auto-trailing-slash' | 'force-trailing-slash' | 'drop-trailing-slash' | 'none'
  not_found_handling?: 'single-page-application' | '404-page' | 'none'
  run_worker_first?: boolean | string[]
  _headers?: string
  _redirects?: string
}

type Manifest = Map<string, { hash: string; size: number }>

/** Small, so that a site needs several requests. */
const bucketSize = 10
const lifetimeSeconds = 3600

export function createAssets(): { routes: Routes; findFiles: (completion: string) => Map<string, Uint8Array> } {
  const contents = new Map<string, Uint8Array>()
  /** By their tokens. A session's own token uploads, its completion token names its files. */
  const sessions = new Map<string, Manifest>()
  const completions = new Map<string, Manifest>()

  const start = (call: Call) => {
    const { manifest } = readJson(call)
    const files: Manifest = new Map(Object.entries(isJsonObject(manifest) ? manifest : {}) as never)
    const missing = findMissing(files)
    if (missing.length === 0) return { jwt: complete(files), buckets: [] }
    const jwt = makeToken()
    sessions.set(jwt, files)
    const buckets = []
    for (let first = 0; first < missing.length; first += bucketSize) {
      buckets.push(missing.slice(first, first + bucketSize))
    }
    return { jwt, buckets }
  }

  const upload = async (call: Call) => {
    const manifest = sessions.get(call.bearer)
    if (manifest === undefined) throw new Refusal(401, 10013, 'The token of the upload session is wrong.')
    const sizes = new Map([...manifest.values()].map(({ hash, size }) => [hash, size]))
    for (const [hash, value] of await readForm(call)) {
      const file = Buffer.from(typeof value === 'string' ? value : await value.text(), 'base64')
      if (sizes.get(hash) !== file.length) throw new Refusal(400, 10013, `The file ${hash} is not as announced.`)
      contents.set(hash, file)
    }
    return { jwt: findMissing(manifest).length === 0 ? complete(manifest) : null }
  }

  const findMissing = (manifest: Manifest) => [
    ...new Set([...manifest.values()].map(({ hash }) => hash).filter((hash) => !contents.has(hash))),
  ]

  const complete = (manifest: Manifest): string => {
    const jwt = makeToken()
    completions.set(jwt, manifest)
    return jwt
  }

  const findFiles = (completion: string) => {
    const manifest = completions.get(completion)
    if (manifest === undefined) throw new Refusal(400, 10013, 'The completion token of the assets is wrong.')
    const read = (hash: string) => contents.get(hash) ?? new Uint8Array()
    return new Map([...manifest].map(([path, { hash }]) => [path, read(hash)]))
  }

  const routes: Routes = {
    'POST /workers/scripts/:name/assets-upload-session': start,
    'POST /workers/assets/upload': upload,
  }
  return { routes, findFiles }
}

/** Wrangler reads when a token expires. */
function makeToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + lifetimeSeconds
  return [part({ alg: 'none' }), part({ exp, id: randomUUID() }), 'unsigned'].join('.')
}
