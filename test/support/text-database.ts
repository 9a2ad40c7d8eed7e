// Opens D1 as Cloudflare's HTTP API does: each parameter is sent as text.
import { expect } from 'vitest'
import type { OperatorDatabase } from '../../src/db/operator-database.ts'
import { openOperatorDatabase } from './operator-database.ts'

/** Makes the call of a statement, or does something else. */
export type Run = <T>(call: () => Promise<T>, sql: string) => Promise<T>

/** @param run gets the call of each statement, and its SQL. */
export function openTextDatabase(d1: D1Database, run: Run): OperatorDatabase {
  const prepare = (sql: string) => ({
    bind: (...params: unknown[]) => {
      for (const param of params) expect(['string', 'number']).toContain(typeof param)
      const statement = d1.prepare(sql).bind(...params.map(String))
      return { raw: () => run(() => statement.raw(), sql), run: () => run(() => statement.run(), sql) }
    },
  })
  const textD1: D1Database = { prepare } as never
  return openOperatorDatabase(textD1)
}

/** Returns the writes of an SQL text, such as `update publications`. */
export function listWrites(text: string): string[] {
  const writes = text.replaceAll('do update set', '').matchAll(/\b(insert into|update|delete from) "?(\w+)/g)
  return [...writes].map(([, verb, table]) => `${verb} ${table}`)
}

/** Opens a database that runs each write twice, as after a retry, and returns the first answer. */
export function openRepeatingDatabase(d1: D1Database): OperatorDatabase {
  return openTextDatabase(d1, async (call, sql) => {
    const answer = await call()
    if (listWrites(sql).length > 0) await call()
    return answer
  })
}
