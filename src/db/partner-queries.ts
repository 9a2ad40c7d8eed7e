// SQL that reads partners and their client secrets. change-record-queries.ts changes them.
import { and, asc, count, eq, isNull, min, or, sql } from 'drizzle-orm'
import { QueryBuilder } from 'drizzle-orm/sqlite-core'
import { StorageError, type Database } from './database.ts'
import { catalogRevision, partners, partnerSecrets } from './schema.ts'

/** A partner as operators see it, without its secrets. */
export interface Partner {
  shortName: string
  name: string
  country: string
  clientId: string
  /** Unix seconds. */
  createdAt: number
  /** Unix seconds; null while the partner is active. */
  suspendedAt: number | null
  /** How to reach the partner. */
  contact: string | null
  /** Unix seconds; null unless the partner is closed. A closed partner is also suspended. */
  closedAt: number | null
}

/** A partner with the number of its live secrets, and when the oldest of them was made. */
export interface PartnerSummary extends Partner {
  secretCount: number
  /** Unix seconds; null without a live secret. */
  oldestSecretAt: number | null
}

/** The columns that the token endpoint reads to authenticate a client, with one entry per secret. */
export interface Client {
  shortName: string
  country: string
  isSuspended: boolean
  secrets: { hash: string; expiresAt: number | null }[]
}

/** The columns that the plan list reads about the partner of a token. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
}

/** Built once per isolate: building it for each request costs 10% of the token endpoint's throughput. */
const clientQuery = new QueryBuilder()
  .select({
    shortName: partners.shortName,
    country: partners.country,
    suspendedAt: partners.suspendedAt,
    hash: partnerSecrets.hash,
    expiresAt: partnerSecrets.expiresAt,
  })
  .from(partners)
  .leftJoin(partnerSecrets, eq(partnerSecrets.partnerId, partners.id))
  .where(eq(partners.clientId, sql.placeholder('clientId')))
  .toSQL().sql

type ClientRow = [
  shortName: string,
  country: string,
  suspendedAt: number | null,
  hash: string | null,
  expiresAt: number | null,
]

/**
 * One query, by a unique index.
 * @throws StorageError with D1's message when D1 fails
 */
export async function selectClient(d1: D1Database, clientId: string): Promise<Client | undefined> {
  const rows = await rejectWithStorageError(d1.prepare(clientQuery).bind(clientId).raw<ClientRow>())
  const [first] = rows
  if (first === undefined) return undefined
  const [shortName, country, suspendedAt] = first
  const secrets = rows.flatMap(([, , , hash, expiresAt]) => (hash === null ? [] : { hash, expiresAt }))
  return { shortName, country, isSuspended: suspendedAt !== null, secrets }
}

/** Built once. Every column is qualified with its table: see isViewableIn in plan-queries.ts. */
const checkQuery = new QueryBuilder()
  .select({
    revision: catalogRevision.revision,
    shortName: partners.shortName,
    country: partners.country,
    suspendedAt: partners.suspendedAt,
  })
  .from(catalogRevision)
  .leftJoin(partners, eq(partners.clientId, sql.placeholder('clientId')))
  .toSQL().sql

type CheckRow = [revision: number, shortName: string | null, country: string | null, suspendedAt: number | null]

/**
 * Reads a partner and the catalog's revision in one query. D1 counts two or three rows read.
 * @throws StorageError when D1 fails
 */
export async function selectPartnerCheck(
  d1: Pick<D1DatabaseSession, 'prepare'>,
  clientId: string,
): Promise<{ revision: number; partner: PartnerAccess | undefined }> {
  const [row] = await rejectWithStorageError(d1.prepare(checkQuery).bind(clientId).raw<CheckRow>())
  if (row === undefined) throw new Error('catalog_revision has no row')
  const [revision, shortName, country, suspendedAt] = row
  if (shortName === null || country === null) return { revision, partner: undefined }
  return { revision, partner: { shortName, country, isSuspended: suspendedAt !== null } }
}

async function rejectWithStorageError<T>(query: Promise<T>): Promise<T> {
  return query.catch((error: unknown) => {
    throw new StorageError(error instanceof Error ? error.message : 'D1 failed')
  })
}

const partnerFields = {
  shortName: partners.shortName,
  name: partners.name,
  country: partners.country,
  clientId: partners.clientId,
  createdAt: partners.createdAt,
  suspendedAt: partners.suspendedAt,
  contact: partners.contact,
  closedAt: partners.closedAt,
}

/** Still valid by D1's clock. */
const isLiveSecret = or(isNull(partnerSecrets.expiresAt), sql`${partnerSecrets.expiresAt} > unixepoch()`)

export function selectPartners(db: Database): Promise<PartnerSummary[]> {
  return db
    .select({
      ...partnerFields,
      secretCount: count(partnerSecrets.id),
      oldestSecretAt: min(partnerSecrets.createdAt),
    })
    .from(partners)
    .leftJoin(partnerSecrets, and(eq(partnerSecrets.partnerId, partners.id), isLiveSecret))
    .groupBy(partners.id)
    .orderBy(asc(partners.shortName))
}

export async function selectPartner(db: Database, shortName: string): Promise<Partner | undefined> {
  const [partner] = await db.select(partnerFields).from(partners).where(eq(partners.shortName, shortName))
  return partner
}

/** Selects the secrets that are still valid by D1's clock, the oldest first. */
export function selectLiveSecrets(
  db: Database,
  clientId: string,
): Promise<{ id: number; createdAt: number; expiresAt: number | null }[]> {
  const { id, createdAt, expiresAt, partnerId } = partnerSecrets
  return db
    .select({ id, createdAt, expiresAt })
    .from(partnerSecrets)
    .innerJoin(partners, eq(partners.id, partnerId))
    .where(and(eq(partners.clientId, clientId), isLiveSecret))
    .orderBy(asc(id))
}

export async function isSecretStored(db: Database, hash: string): Promise<boolean> {
  const [row] = await db.select({ id: partnerSecrets.id }).from(partnerSecrets).where(eq(partnerSecrets.hash, hash))
  return row !== undefined
}
