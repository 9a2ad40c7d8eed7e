// Reading many rows in pages: D1 documents no size for an answer over HTTP.

/** As many rows as have about this size as JSON. A UTF-16 code unit is at most 3 bytes of UTF-8. */
const maxPageCharacters = 300_000
const maxPageRows = 2000

/** @param readAfter reads at most `limit` rows that follow `last`, or the first ones. */
export async function* readPages<Row>(
  readAfter: (last: Row | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  let limit = 50
  let last: Row | undefined
  while (true) {
    const page = await readAfter(last, limit)
    if (page.length > 0) yield page
    if (page.length < limit) return
    last = page.at(-1)
    const size = JSON.stringify(page).length / page.length
    limit = Math.max(1, Math.min(maxPageRows, Math.floor(maxPageCharacters / size)))
  }
}

/** Reads all pages. */
export async function readAll<Row>(
  readAfter: (last: Row | undefined, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for await (const page of readPages(readAfter)) rows.push(...page)
  return rows
}
