// Rows for tests. Every test makes its own partners and plans.
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

/** A plan in which every field differs from every other. */
export function makePlan(overrides: Partial<CatalogPlan> = {}): CatalogPlan {
  const id = overrides.id ?? 1
  return {
    id,
    identifier: `plan-${id}`,
    name: 'Mwamba Money Market Fund',
    coolName: 'Mwamba Cash',
    about: 'Holds treasury bills and short deposits.\nPays out monthly.',
    hint: 'Cash that keeps working',
    imageUrl: 'https://images.example.com/mwamba.jpg',
    thumbnail: 'https://images.example.com/mwamba-thumb.jpg',
    sector: 'Government securities',
    fundType: 'MONEY_MARKET',
    profitType: 'VARIABLE',
    profitTypeDescription: 'Interest is accrued daily and paid monthly.',
    performance1: 13.1,
    performance3: -0.25,
    performance5: 0,
    performance10: null,
    performanceDate: '2026-10-30',
    currency: 'KES',
    minInvestableAmounts: { KES: 1000.5, USD: 10 },
    minTopUpAmounts: { KES: 500 },
    tenor: 'Open-ended',
    lockInPeriod: 30,
    partialWithdrawable: true,
    factSheet: 'https://docs.example.com/mwamba-facts.pdf',
    prospectus: 'https://docs.example.com/mwamba-prospectus.pdf',
    isInvestable: true,
    nonInvestableNote: null,
    category: { id: 3, name: 'Money Market', displayName: 'Save daily', tagLine: 'Low risk, Shari’ah "too"' },
    planType: { id: 4, name: 'Unit Trust' },
    productRiskLevel: { id: 5, name: 'Low' },
    fundManager: { id: 6, name: 'Société d’Épargne Ɔdum' },
    fundCurrency: { currency: 'USD' },
    viewableIn: ['KE'],
    ...overrides,
  }
}
