// Rows for tests. Every test makes its own.
import { env } from 'cloudflare:workers'
import { generateClientId, generateClientSecret, hashSecret } from '../../../src/crypto/client-secret.ts'
import type { CatalogPlan } from '../../../src/catalog/plan-schema.ts'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { insertPartner } from '../../support/insert-partner.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { keepSecret } from './log-leaks.ts'

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
  keepSecret(clientId, clientSecret, secretHash)
  await insertPartner(env.DB, { shortName, country, clientId, secretHash })
  return { shortName, country, clientId, clientSecret }
}

/** Plans of the same ID are replaced, others stay. */
export async function seedPlans(...put: CatalogPlan[]): Promise<void> {
  await publishPlans(openOperatorDatabase(env.DB), put)
}
