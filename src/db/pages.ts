// Reading many rows in pages: D1 documents no size for an answer over HTTP.
import type { Database } from './database.ts'

/** Plans have about 2 kB, and at most some 30 kB. */
const pageRows = 150

/** Tells how many rows were read. @param what such as `plans`. */
export function tellRows({ hear }: Pick<Database, 'hear'>, what: string) {
  return (rows: number) => hear?.(`Reading ${what}: ${rows.toLocaleString('en')}`)
}

interface PageOptions {
  /** By default, for rows with a plan. */
  limit?: number
  /** Hears how many rows were read. */
  tell?: ReturnType<typeof tellRows>
}

/**
 * @param readAfter reads at most `limit` rows that follow the row with a key, or the first ones.
 * @param getKey of a row.
 */
export async function* readPages<Row, Key>(
  readAfter: (last: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
  { limit = pageRows, tell }: PageOptions = {},
): AsyncGenerator<Row[]> {
  let page: Row[] = []
  let rows = 0
  do {
    const last = page.at(-1)
    page = await readAfter(last && getKey(last), limit)
    rows += page.length
    if (page.length === limit) tell?.(rows)
    yield page
  } while (page.length === limit)
}

/** Reads all pages. */
export async function readAll<Row, Key>(
  readAfter: (last: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
  options?: PageOptions,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter, getKey, options)) rows.push(...page)
  return rows
}
