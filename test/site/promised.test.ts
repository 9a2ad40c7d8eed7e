import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { planSchema } from '../../src/catalog/plan-schema.ts'
import { describeEvidence, promised } from '../../src/site/blocks/promised.ts'

test('the page says since when the service runs in production, or that it does not', () => {
  expect(describeEvidence(null)).toContain('has not run in production')
  expect(describeEvidence('2027-01-15')).toContain('since 2027-01-15')
})

test('the guide says how to show every field of a plan', () => {
  const page = readFileSync('src/site/pages/plans.md', 'utf8')
  const isShown = (name: string) => page.includes(`\`${name}\``) || /^performance(3|5)$/.test(name)
  expect(page).toContain('`performance1` to `performance10`')
  expect(Object.keys(planSchema.shape).filter((name) => !isShown(name))).toEqual([])
})

test('the pages for partners show every number, address and answer', () => {
  const pages = globSync('src/site/pages/*.md').map((file) => readFileSync(file, 'utf8'))
  const missing = Object.keys(promised).filter((name) => !pages.some((page) => page.includes(`<!-- ${name} -->`)))
  expect(missing).toEqual([])
})
