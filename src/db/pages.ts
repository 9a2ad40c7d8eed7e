// Reading many rows in pages: D1 documents no size for an answer over HTTP.

/** Plans have about 2 kB, and at most some 30 kB. */
const pageRows = 150

/** @param readAfter reads at most `limit` rows that follow `last`, or the first ones. */
export async function* readPages<Row>(
  readAfter: (last: Row | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  let page: Row[] = []
  do {
    page = await readAfter(page.at(-1), pageRows)
    yield page
  } while (page.length === pageRows)
}

/** Reads all pages. */
export async function readAll<Row>(
  readAfter: (last: Row | undefined, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter)) rows.push(...page)
  return rows
}
