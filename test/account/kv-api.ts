// Workers KV: namespaces and their values.
import { randomBytes } from 'node:crypto'
import { isFirstPage, readJson, Refusal, type Call, type Routes } from './api.ts'
import type { Stores } from './stores.ts'

interface Namespace {
  id: string
  title: string
  supports_url_encoding: true
}

export type Namespaces = Map<string, Namespace>

export function createKv(namespaces: Namespaces, stores: Stores): Routes {
  const find = (id: string): Namespace => {
    const namespace = namespaces.get(id)
    if (namespace === undefined) throw new Refusal(404, 10013, 'namespace not found')
    return namespace
  }

  const create = async (call: Call) => {
    const title = String(readJson(call)['title'])
    if ([...namespaces.values()].some((namespace) => namespace.title === title)) {
      throw new Refusal(400, 10014, 'a namespace with this account ID and title already exists')
    }
    const namespace = addNamespace(namespaces, randomBytes(16).toString('hex'), title)
    await stores.addNamespace(namespace.id)
    return namespace
  }

  const open = (id: string) => stores.openNamespace(find(id).id)

  /** Small pages, so that a caller has to follow the cursor. */
  const listKeys = async ({ query }: Call, id: string) => {
    const [prefix, cursor] = [query.get('prefix') ?? '', query.get('cursor')]
    const page = await (await open(id)).list({ prefix, cursor, limit: 10 })
    const info = { count: page.keys.length, cursor: page.list_complete ? '' : page.cursor }
    return Response.json({ success: true, errors: [], messages: [], result: page.keys, result_info: info })
  }

  interface Entry {
    key: string
    value: string
    metadata: object
    expiration_ttl: number
  }

  const writeEntries = async (id: string, entries: readonly Entry[]) => {
    const kv = await open(id)
    for (const { key, value, metadata, expiration_ttl } of entries) {
      await kv.put(key, value, { metadata, expirationTtl: expiration_ttl })
    }
    return { successful_key_count: entries.length, unsuccessful_keys: [] }
  }

  return {
    'POST /storage/kv/namespaces': create,
    // The first page has all namespaces.
    'GET /storage/kv/namespaces': (call) => (isFirstPage(call) ? [...namespaces.values()] : []),
    'GET /storage/kv/namespaces/:id/keys': (call, id = '') => listKeys(call, id),
    'PUT /storage/kv/namespaces/:id/bulk': (call, id = '') =>
      writeEntries(id, JSON.parse(call.body.toString()) as Entry[]),
  }
}

export function addNamespace(namespaces: Namespaces, id: string, title: string): Namespace {
  const namespace: Namespace = { id, title, supports_url_encoding: true }
  namespaces.set(id, namespace)
  return namespace
}
