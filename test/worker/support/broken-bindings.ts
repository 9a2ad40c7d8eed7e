// Storage that fails as the real one does: when a statement runs, not when it is prepared; when KV answers, not when it is
// asked.
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

/** D1's own errors begin with D1_ERROR, errors of the connection to it do not. */
export function breakD1(message = 'D1_ERROR: down'): void {
  answerD1With(() => Promise.reject(new Error(message)))
}

export function hangD1(): void {
  answerD1With(() => new Promise<never>(() => {}))
}

/** Delays every answer of D1. */
export function slowD1(ms: number): void {
  answerD1With(async (answer) => {
    await new Promise((resolve) => setTimeout(resolve, ms))
    return answer()
  })
}

/** Every statement, also of a session, settles as `change` says. It gets the real answer as a function. */
function answerD1With(change: (answer: () => Promise<unknown>) => Promise<unknown>): void {
  const wrapStatement = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get: (target, name) => {
        if (name === 'bind') return (...params: unknown[]) => wrapStatement(target.bind(...params))
        const run = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>
        if (typeof run !== 'function') return run
        return (...args: unknown[]) => change(() => run.apply(target, args))
      },
    })
  const withSession = env.DB.withSession.bind(env.DB)
  vi.spyOn(env.DB, 'withSession').mockImplementation((constraint) => {
    const session = withSession(constraint)
    return { prepare: (sql: string) => wrapStatement(session.prepare(sql)) } as never
  })
  const prepare = env.DB.prepare.bind(env.DB)
  vi.spyOn(env.DB, 'prepare').mockImplementation((sql) => wrapStatement(prepare(sql)))
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
