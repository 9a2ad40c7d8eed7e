// Storage that fails as the real one does: when a statement runs, not when it is prepared; when KV answers, not when it is
// asked.
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/** D1's own errors begin with D1_ERROR, those of the way to it do not. */
export function breakD1(message = 'D1_ERROR: down'): void {
  answerD1With(() => Promise.reject(new Error(message)))
}

export function hangD1(): void {
  answerD1With(() => new Promise<never>(() => {}))
}

/** The real one, later. */
export function slowD1(ms: number): void {
  const prepare = env.DB.prepare.bind(env.DB)
  const late = async (sql: string, params: unknown[]) => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return prepare(sql)
      .bind(...params)
      .raw()
  }
  answerD1With(late)
}

function answerD1With(raw: (sql: string, params: unknown[]) => Promise<unknown>): void {
  const prepare = (sql: string) => ({ bind: (...params: unknown[]) => ({ raw: () => raw(sql, params) }) })
  vi.spyOn(env.DB, 'prepare').mockImplementation(prepare as never)
  vi.spyOn(env.DB, 'withSession').mockReturnValue({ prepare } as never)
}

interface KvAnswer {
  value: ArrayBuffer | null
  metadata: unknown
}

/** What KV reads goes through `change`. */
export function changeKvReads(change: (answer: KvAnswer) => KvAnswer): void {
  const read = env.CATALOG_CACHE.getWithMetadata.bind(env.CATALOG_CACHE) as (...args: unknown[]) => Promise<KvAnswer>
  const get = async (...args: unknown[]) => change(await read(...args))
  vi.spyOn(env.CATALOG_CACHE, 'getWithMetadata').mockImplementation(get as never)
}

/** Those operations reject, or never settle. */
export function breakKv(...operations: ('getWithMetadata' | 'put' | 'delete')[]): void {
  answerKvWith(operations, () => Promise.reject(new Error('KV failed: 500')))
}

export function hangKv(): void {
  answerKvWith(['getWithMetadata', 'put', 'delete'], () => new Promise<never>(() => {}))
}

function answerKvWith(operations: ('getWithMetadata' | 'put' | 'delete')[], answer: () => Promise<never>): void {
  for (const operation of operations) vi.spyOn(env.CATALOG_CACHE, operation).mockImplementation(answer as never)
}
