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

export type Mode = 'once' | 'twice' | 'answer lost'

/** A write arrives twice, also because its answer got lost: then, the second answer is the one that counts. */
export function deliver(mode: Mode): Run {
  return async (call, sql) => {
    const isWrite = /\b(insert into|update|delete from) "?\w+/.test(sql.replaceAll('do update set', ''))
    if (mode === 'once' || !isWrite) return call()
    const answers = [await call(), await call()] as const
    return answers[mode === 'twice' ? 0 : 1]
  }
}

/** Opens a database that runs each write twice, as after a retry, and returns the first answer. */
export const openRepeatingDatabase = (d1: D1Database) => openTextDatabase(d1, deliver('twice'))
