import { expect, test } from 'vitest'
import { examplePlan } from '../../src/catalog/example-plan.ts'
import { computeScale, renderCard } from '../../src/site/plan-card.ts'

test.each([
  [{}, 'Save daily Mwamba Cash Cash that keeps working Annualized return as of 30 Oct 2026 1 year 13.1% 3 years 11.9%'],
  [{}, 'Start with KES 1,000 or USD 10 Top up from KES 500 Risk Low Lock-in 30 days About Mwamba Cash'],
  [{}, 'Formal name Mwamba Money Market Fund Managed by Société d’Épargne Ɔdum Type Unit Trust Term Open-ended'],
  [{ category: null, productRiskLevel: null }, 'Government securities Mwamba Cash'],
  [{ productRiskLevel: null, lockInPeriod: 0 }, 'Risk Not rated Lock-in None'],
  [{ minInvestableAmounts: { KES: 0 }, minTopUpAmounts: {} }, 'Start with Any amount Top up from Not stated'],
  [{ minTopUpAmounts: { KES: 1234567.125 }, lockInPeriod: 1 }, 'KES 1,234,567.125 Risk Low Lock-in 1 day About'],
  [{ performance1: -12.5, performance3: null }, '1 year -12.5% 3 years – not available'],
  [{ isInvestable: false, nonInvestableNote: 'Sold out.' }, 'Closed to new investment. Sold out. Annualized'],
  [{ partialWithdrawable: false }, 'Partial withdrawal Not possible'],
])('the card of a plan with %o has "%s"', async (changes, text) => {
  const card = String(await renderCard({ ...examplePlan, ...changes }, computeScale([examplePlan])))
  expect(card.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toContain(text)
})
