// Rows for tests. Every test makes its own.
import { env } from 'cloudflare:workers'
import { generateClientId, generateClientSecret, hashSecret } from '../../src/auth/secret.ts'
import type { CatalogPlan } from '../../src/catalog/plan.ts'
import { replacePlansStatements } from '../../src/db/catalog.ts'
import { openDatabase, runStatements } from '../../src/db/database.ts'
import { insertPartner } from '../../src/db/partners.ts'

export interface TestPartner {
  shortName: string
  country: string
  clientId: string
  clientSecret: string
}

let partners = 0

/** Few iterations, as most tests don't care. */
export async function seedPartner(country = 'KE', iterations = 1000): Promise<TestPartner> {
  const shortName = `partner-${++partners}`
  const clientId = generateClientId()
  const clientSecret = generateClientSecret()
  const secretHash = await hashSecret(clientSecret, iterations)
  const row = { shortName, name: shortName, country, clientId, secretHash, nowSeconds: 0 }
  await insertPartner(openDatabase(env.DB), row)
  return { shortName, country, clientId, clientSecret }
}

export function seedPlans(...plans: CatalogPlan[]): Promise<unknown> {
  return runStatements(env.DB, replacePlansStatements(plans))
}
