// The import of a file into D1, as `wrangler d1 execute --remote --file` does it: announce, upload, ingest, poll.
import { createHash } from 'node:crypto'
import type { D1Account } from './d1-api.ts'
import { readJson, Refusal, type Call, type Routes } from './api.ts'
import type { Stores } from './stores.ts'

/** @param getUrl the address of the API, where the files are uploaded too. */
export function createImports({ databases }: D1Account, stores: Stores, getUrl: () => string): Routes {
  /** The uploaded files, by their MD5. */
  const uploads = new Map<string, string>()

  const upload = (call: Call) => {
    const etag = createHash('md5').update(call.body).digest('hex')
    uploads.set(etag, call.body.toString())
    return new Response('', { headers: { ETag: `"${etag}"` } })
  }

  /** Runs the statements of an uploaded file in one transaction. @returns their number. */
  const ingest = async (id: string, etag: string) => {
    const { unstable_splitSqlQuery: splitSqlQuery } = await import('wrangler')
    const db = await stores.openDatabase(id)
    const statements = splitSqlQuery(uploads.get(etag) ?? '')
    await db.batch(statements.map((sql) => db.prepare(sql)))
    return statements.length
  }

  const importFile = async (call: Call, id: string) => {
    if (!databases.has(id)) throw new Refusal(404, 7404, `The database ${id} could not be found`)
    const { action, etag, current_bookmark: bookmark } = readJson(call)
    switch (action) {
      case 'init':
        return { success: true, filename: `${String(etag)}.sql`, upload_url: `${getUrl()}/uploads/${String(etag)}` }
      case 'ingest':
        return { success: true, status: 'active', messages: [], at_bookmark: String(await ingest(id, String(etag))) }
      case 'poll': {
        const meta = { duration: 1, rows_read: 0, rows_written: 0, size_after: 0 }
        const result = { num_queries: Number(bookmark), final_bookmark: bookmark, meta }
        return { success: true, status: 'complete', messages: [], result }
      }
      default:
        throw new Refusal(400, 7400, `The action ${String(action)} is unknown`)
    }
  }

  return {
    'POST /d1/database/:id/import': (call, id = '') => importFile(call, id),
    'PUT /uploads/:etag': upload,
  }
}
