// Reads many rows in pages, because Cloudflare does not document how large an answer of D1 over HTTP may be.
import type { Database } from './database.ts'

/** The number of rows of a page. A row with a plan has about 2 kB, and at most about 30 kB. */
const rowsPerPage = 150

/** @param noun the rows, such as `plans`. @returns a function that tells the user how many rows were read so far */
export function makeRowReporter({ reportProgress }: Pick<Database, 'reportProgress'>, noun: string) {
  return (rowCount: number) => reportProgress?.(`Reading ${noun}: ${rowCount.toLocaleString('en')}`)
}

interface PageOptions {
  /** The number of rows of a page. Default: `rowsPerPage`. */
  limit?: number
  /** Receives the number of rows that were read so far, after each page but the last. */
  reportRows?: ReturnType<typeof makeRowReporter>
}

/**
 * Reads pages until one has fewer rows than `limit`. This last page may be empty.
 * @param readAfter reads at most `limit` rows after the row with the key `lastKey`, or the first rows if `lastKey` is undefined.
 */
export async function* readPages<Row, Key>(
  readAfter: (lastKey: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
  { limit = rowsPerPage, reportRows }: PageOptions = {},
): AsyncGenerator<Row[]> {
  let page: Row[] = []
  let rowCount = 0
  do {
    const lastRow = page.at(-1)
    page = await readAfter(lastRow && getKey(lastRow), limit)
    rowCount += page.length
    if (page.length === limit) reportRows?.(rowCount)
    yield page
  } while (page.length === limit)
}

/** Reads the rows of all pages. The parameters are those of `readPages`. */
export async function readAll<Row, Key>(
  readAfter: (lastKey: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
  options?: PageOptions,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter, getKey, options)) rows.push(...page)
  return rows
}
