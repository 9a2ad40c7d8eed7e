// Reads many rows in pages, because D1 documents no limit for the size of an answer over HTTP.
import type { Database } from './database.ts'

/** The rows of a page, for rows with a plan: it has about 2 kB, and at most about 30 kB. */
const pageRows = 150

/** @param what the rows are, such as `plans`. @returns a function that reports how many rows were read */
export function makeRowReporter({ reportProgress }: Pick<Database, 'reportProgress'>, what: string) {
  return (rows: number) => reportProgress?.(`Reading ${what}: ${rows.toLocaleString('en')}`)
}

interface PageOptions {
  /** The rows of a page. Default: `pageRows`. */
  limit?: number
  /** Receives the number of rows that were read so far. */
  tell?: ReturnType<typeof makeRowReporter>
}

/**
 * Reads rows in pages, in the order of their keys.
 * @param readAfter reads at most `limit` rows after the row with the key `last`, or the first rows if it is undefined.
 * @param getKey returns the key of a row.
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

/** Reads the rows of all pages. For the parameters, see `readPages`. */
export async function readAll<Row, Key>(
  readAfter: (last: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
  options?: PageOptions,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter, getKey, options)) rows.push(...page)
  return rows
}
