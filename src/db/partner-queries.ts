// SQL that reads partners as operators see them. change-record-queries.ts changes them, client-queries.ts is the Worker's.
import { and, asc, count, eq, getTableColumns, isNull, min, or, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { partners, partnerSecrets } from './schema.ts'

const { id: _, ...partnerFields } = getTableColumns(partners)

/**
 * A partner as operators see it, without its secrets. Times are Unix seconds. A closed partner is also suspended. Tokens that
 * were issued before `tokensValidFrom` are refused.
 */
export type Partner = Omit<typeof partners.$inferSelect, 'id'>

/** A partner with the number of its live secrets, and when the oldest of them was made. */
export interface PartnerSummary extends Partner {
  secretCount: number
  /** Unix seconds; null without a live secret. */
  oldestSecretAt: number | null
}

/** Times are Unix seconds; `expiresAt` is null while the secret is the current one. */
export type LiveSecret = Pick<typeof partnerSecrets.$inferSelect, 'id' | 'createdAt' | 'expiresAt'>

/** Still valid by D1's clock. */
const isLiveSecret = or(isNull(partnerSecrets.expiresAt), sql`${partnerSecrets.expiresAt} > unixepoch()`)

export function selectPartners(db: Database): Promise<PartnerSummary[]> {
  return db
    .select({ ...partnerFields, secretCount: count(partnerSecrets.id), oldestSecretAt: min(partnerSecrets.createdAt) })
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
export function selectLiveSecrets(db: Database, clientId: string): Promise<LiveSecret[]> {
  const { id, createdAt, expiresAt, partnerId } = partnerSecrets
  return db
    .select({ id, createdAt, expiresAt })
    .from(partnerSecrets)
    .innerJoin(partners, eq(partners.id, partnerId))
    .where(and(eq(partners.clientId, clientId), isLiveSecret))
    .orderBy(asc(id))
}

/** A live secret with its hash, and its partner. */
export interface StoredSecret {
  hash: string
  secret: LiveSecret
  partner: Pick<Partner, 'shortName' | 'name' | 'clientId' | 'suspendedAt' | 'closedAt'>
}

/** Selects the secrets of all partners that are still valid by D1's clock. */
export function selectStoredSecrets(db: Database): Promise<StoredSecret[]> {
  const { id, hash, createdAt, expiresAt, partnerId } = partnerSecrets
  const { shortName, name, clientId, suspendedAt, closedAt } = partners
  return db
    .select({
      hash,
      secret: { id, createdAt, expiresAt },
      partner: { shortName, name, clientId, suspendedAt, closedAt },
    })
    .from(partnerSecrets)
    .innerJoin(partners, eq(partners.id, partnerId))
    .where(isLiveSecret)
    .orderBy(asc(id))
}

export async function isSecretStored(db: Database, hash: string): Promise<boolean> {
  const [row] = await db.select({ id: partnerSecrets.id }).from(partnerSecrets).where(eq(partnerSecrets.hash, hash))
  return row !== undefined
}
