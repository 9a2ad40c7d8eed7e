// SQL on partners and their secrets.
import { asc, eq, sql } from 'drizzle-orm'
import type { Database } from './database.ts'
import { partners, partnerSecrets } from './schema.ts'

export interface NewPartner {
  shortName: string
  name: string
  /** ISO 3166-1 alpha-2. */
  country: string
  clientId: string
  secretHash: string
  nowSeconds: number
}

/** A partner as operators see it: without its secrets. */
export interface Partner {
  shortName: string
  name: string
  country: string
  clientId: string
  /** Unix seconds. */
  createdAt: number
  /** Unix seconds; null while the partner is active. */
  suspendedAt: number | null
}

/** What the token endpoint has to know of a client. */
export interface Client {
  shortName: string
  isSuspended: boolean
  secrets: { hash: string; expiresAt: number | null }[]
}

/** What the plan list has to know of a token's partner. */
export interface PartnerAccess {
  shortName: string
  country: string
  isSuspended: boolean
}

/** One query, by a unique index. */
export async function selectClient(db: Database, clientId: string): Promise<Client | undefined> {
  const rows = await db
    .select({
      shortName: partners.shortName,
      suspendedAt: partners.suspendedAt,
      secret: { hash: partnerSecrets.hash, expiresAt: partnerSecrets.expiresAt },
    })
    .from(partners)
    .leftJoin(partnerSecrets, eq(partnerSecrets.partnerId, partners.id))
    .where(eq(partners.clientId, clientId))
  const [first] = rows
  if (first === undefined) return undefined
  const secrets = rows.flatMap(({ secret }) => secret ?? [])
  return { shortName: first.shortName, isSuspended: first.suspendedAt !== null, secrets }
}

/** One query, by a unique index. */
export async function selectPartnerAccess(db: Database, clientId: string): Promise<PartnerAccess | undefined> {
  const [row] = await db
    .select({ shortName: partners.shortName, country: partners.country, suspendedAt: partners.suspendedAt })
    .from(partners)
    .where(eq(partners.clientId, clientId))
  return row && { shortName: row.shortName, country: row.country, isSuspended: row.suspendedAt !== null }
}

export function selectPartners(db: Database): Promise<Partner[]> {
  return db
    .select({
      shortName: partners.shortName,
      name: partners.name,
      country: partners.country,
      clientId: partners.clientId,
      createdAt: partners.createdAt,
      suspendedAt: partners.suspendedAt,
    })
    .from(partners)
    .orderBy(asc(partners.shortName))
}

/** Both rows or none. A short name that is taken fails on its unique index. */
export async function insertPartner(db: Database, partner: NewPartner): Promise<void> {
  const { shortName, name, country, clientId, secretHash, nowSeconds } = partner
  await db.batch([
    db.insert(partners).values({ shortName, name, country, clientId, createdAt: nowSeconds }),
    db.insert(partnerSecrets).values({
      partnerId: sql`(select ${partners.id} from ${partners} where ${partners.clientId} = ${clientId})`,
      hash: secretHash,
      createdAt: nowSeconds,
    }),
  ])
}
