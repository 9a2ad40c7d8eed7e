import { expect, test } from 'vitest'
import { examplePlan } from '../../src/catalog/example-plan.ts'
import { planSchema } from '../../src/catalog/plan-schema.ts'
import { createCardPicture } from '../../src/site/blocks/card-picture.ts'
import { computeScale, renderCard } from '../../src/site/plan-card.ts'

test.each([
  [
    {},
    'Save daily Mwamba Cash Cash that keeps working Annualized return in KES as of 30 Oct 2026 1 year 13.1% 3 years',
  ],
  [{}, 'Start with KES 1,000 or USD 10 Top up from KES 500 Risk Low Lock-in 30 days About Mwamba Cash'],
  [
    {},
    'Mwamba Money Market Fund Holds treasury bills and short deposits. Pays out monthly. Managed by Société d’Épargne',
  ],
  [
    {},
    'Type Unit Trust Invests in Government securities Term Open-ended Partial withdrawal Possible Returns Interest is',
  ],
  [{ performance1: -12.5, performance3: null, performance5: 0 }, '1 year -12.5% 3 years – not available 5 years 0.0%'],
  [{ performance1: 7, performance3: -2.675, performance5: -0.004 }, '1 year 7.0% 3 years -2.68% 5 years 0.0%'],
  [{ performance1: 99.125, performance3: -0.001 }, '1 year 99.13% 3 years 0.0%'],
  [{ performance1: null, performance3: null, performance5: null, performance10: null }, 'working Start with KES 1,000'],
  [{ minInvestableAmounts: { KES: 0, USD: 10 } }, 'Start with Any amount in KES or USD 10 Top up from'],
  [{ minTopUpAmounts: {} }, 'Start with KES 1,000 or USD 10 Risk Low'],
  [{ minTopUpAmounts: { KES: 1234567.125 }, lockInPeriod: 1 }, 'KES 1,234,567.125 Risk Low Lock-in 1 day About'],
  [
    { isInvestable: false, nonInvestableNote: 'Sold out.' },
    /investment Sold out\. Annualized .* future returns\. Risk Low/,
  ],
  [{ partialWithdrawable: false }, 'Partial withdrawal Not possible'],
  [{ category: null }, /^ Mwamba Cash/],
  [{ productRiskLevel: null, lockInPeriod: 0 }, 'Top up from KES 500 Lock-in None'],
  [{ fundManager: null, planType: null, fundCurrency: null }, /monthly\. Invests in .* daily\. Fact sheet Prospectus/],
])('the card of a plan with %o has %s', async (changes, text) => {
  const card = String(await renderCard({ ...examplePlan, ...changes }, computeScale([examplePlan])))
  expect(card.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')).toMatch(text)
})

test('the picture of a card has the name of each field that a card shows', async () => {
  const block = createCardPicture()
  const picture = typeof block === 'string' ? block : String(await block.html)
  const names = [...picture.matchAll(/<code>(\w+)<\/code>/g)].map(([, name]) => name)
  const forPrograms = ['id', 'identifier', 'fundType', 'profitType']
  expect(new Set([...names, ...forPrograms])).toEqual(new Set(Object.keys(planSchema.shape)))
})
