import { expect, test } from 'vitest'
import { formatSizes, formatValues } from '../../src/site/demo-facts.ts'

test('the values are those of ordinary plans, each once; risk levels begin with the lowest', () => {
  const rows = formatValues().split('\n').slice(2)
  expect(rows.find((row) => row.includes('productRiskLevel'))).toBe(
    '| `productRiskLevel.name` | `Low`, `Medium`, `High`, `Very High` |',
  )
  expect(rows.find((row) => row.includes('profitType'))).toBe('| `profitType` | `VARIABLE`, `FIXED` |')
  expect(formatValues()).not.toContain('Longest')
})

test('the size of a list is measured', () => {
  expect(formatSizes()).toMatch(
    /^A plan .* has \d\.\d KB .* these \d\d plans has \d\d KB, and \d\d KB with gzip; 10,000 .* \d\d MB\.$/,
  )
})
