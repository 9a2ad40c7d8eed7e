// Inserts and changes partners without the command line, in workerd and in Node.
import { openOperatorDatabase } from './operator-database.ts'
import { deleteLeftovers } from '../../src/db/leftovers.ts'
import {
  insertPartnerChange,
  insertNewPartner,
  type ChangeRequest,
  type PartnerChange,
} from '../../src/db/partner-changes.ts'

export interface PartnerRow {
  shortName: string
  country: string
  clientId: string
  secretHash: string
}

export function makeRequest(): ChangeRequest {
  return { requestId: crypto.randomUUID(), actor: 'test', command: 'test', note: null }
}

/** Inserts a partner with one secret, by the hash of the secret. */
export async function insertPartner(d1: D1Database, partner: PartnerRow): Promise<void> {
  await insertNewPartner(openOperatorDatabase(d1), makeRequest(), { ...partner, name: partner.shortName })
}

/** Changes a partner, without comparing what it is now. */
export async function updatePartner(d1: D1Database, shortName: string, change: PartnerChange): Promise<void> {
  const newest = await d1
    .prepare('select max(id) from change_record where partner = ?')
    .bind(shortName)
    .first('max(id)')
  const id = await insertPartnerChange(openOperatorDatabase(d1), makeRequest(), Number(newest), change)
  if (id === undefined) throw new Error(`${shortName} was not changed`)
  await deleteLeftovers(openOperatorDatabase(d1))
}
