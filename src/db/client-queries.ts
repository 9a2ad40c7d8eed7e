// The Worker's SQL about a client. Every column is qualified with its table: see plan-queries.ts.
import { readRows } from './database.ts'

/** What the plan list reads about the partner of a token. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
}

/** What the token endpoint reads to authenticate a client, with one entry per secret. */
export interface Client extends PartnerAccess {
  secrets: { hash: string; expiresAt: number | null }[]
}

type ClientRow = [
  shortName: string,
  country: string,
  suspendedAt: number | null,
  hash: string | null,
  expiresAt: number | null,
]

const clientQuery = `
  select partners.short_name, partners.country, partners.suspended_at, partner_secrets.hash, partner_secrets.expires_at
  from partners left join partner_secrets on partner_secrets.partner_id = partners.id
  where partners.client_id = ?`

/**
 * One query, by a unique index.
 * @throws StorageError when D1 fails
 */
export async function selectClient(d1: D1Database, clientId: string): Promise<Client | undefined> {
  const rows = await readRows<ClientRow>(d1, { sql: clientQuery, params: [clientId] })
  const [first] = rows
  if (first === undefined) return undefined
  const [shortName, country, suspendedAt] = first
  const secrets = rows.flatMap(([, , , hash, expiresAt]) => (hash === null ? [] : { hash, expiresAt }))
  return { shortName, country, isSuspended: suspendedAt !== null, secrets }
}

type CheckRow = [revision: number, shortName: string | null, country: string | null, suspendedAt: number | null]

const checkQuery = `
  select catalog_revision.revision, partners.short_name, partners.country, partners.suspended_at
  from catalog_revision left join partners on partners.client_id = ?`

/**
 * Reads a partner and the catalog's revision in one query. D1 counts two or three rows read.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  clientId: string,
): Promise<{ revision: number; partner: PartnerAccess | undefined }> {
  const [row] = await readRows<CheckRow>(d1, { sql: checkQuery, params: [clientId] })
  if (row === undefined) throw new Error('catalog_revision has no row')
  const [revision, shortName, country, suspendedAt] = row
  if (shortName === null || country === null) return { revision, partner: undefined }
  return { revision, partner: { shortName, country, isSuspended: suspendedAt !== null } }
}
