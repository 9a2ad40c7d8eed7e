// KV as a Map, with the methods that the command line, the Worker's cache and their tests call. Nothing expires.

interface Entry {
  bytes: ArrayBuffer
  key: { name: string; metadata?: unknown }
}

export function createKv(): KVNamespace {
  const entries = new Map<string, Entry>()
  const list = async ({ prefix, cursor, limit = 1000 }: KVNamespaceListOptions = {}) => {
    const start = Number(cursor ?? 0)
    const end = start + limit
    const names = [...entries.keys()].filter((name) => name.startsWith(prefix ?? '')).toSorted()
    const keys = names.slice(start, end).map((name) => entries.get(name)?.key)
    return end < names.length ? { keys, list_complete: false, cursor: String(end) } : { keys, list_complete: true }
  }
  const getWithMetadata = async (name: string, type = 'text') => {
    const { bytes, key } = entries.get(name) ?? {}
    return { value: bytes === undefined ? null : decode(bytes, type), metadata: key?.metadata ?? null }
  }
  return {
    list,
    getWithMetadata,
    get: async (name: string, type?: string) => (await getWithMetadata(name, type)).value,
    put: async (name: string, value: string | Uint8Array, { metadata }: KVNamespacePutOptions = {}) => {
      const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
      entries.set(name, {
        bytes: Uint8Array.from(bytes).buffer,
        key: { name, ...(metadata !== undefined && { metadata }) },
      })
    },
    delete: async (name: string) => void entries.delete(name),
  } as never
}

function decode(bytes: ArrayBuffer, type: string): unknown {
  if (type === 'arrayBuffer') return bytes
  const text = new TextDecoder().decode(bytes)
  return type === 'json' ? JSON.parse(text) : text
}
