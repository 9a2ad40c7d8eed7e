// Reading many rows in pages: D1 documents no size for an answer over HTTP.

/** Plans have about 2 kB, and at most some 30 kB. */
const pageRows = 150

/**
 * @param readAfter reads at most `limit` rows that follow the row with a key, or the first ones.
 * @param getKey of a row.
 */
export async function* readPages<Row, Key>(
  readAfter: (last: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
): AsyncGenerator<Row[]> {
  let page: Row[] = []
  do {
    const last = page.at(-1)
    page = await readAfter(last && getKey(last), pageRows)
    yield page
  } while (page.length === pageRows)
}

/** Reads all pages. */
export async function readAll<Row, Key>(
  readAfter: (last: Key | undefined, limit: number) => PromiseLike<Row[]>,
  getKey: (row: Row) => Key,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter, getKey)) rows.push(...page)
  return rows
}
