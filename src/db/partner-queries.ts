// SQL that reads partners as operators see them. change-record-queries.ts changes them, client-queries.ts is the Worker's.
import { and, asc, count, eq, isNull, min, or, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { partners, partnerSecrets } from './schema.ts'

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
