import type { Plan } from '../../catalog/plan-schema.ts'

/** A row of a table of plans as partners get them. */
export function toPreviewRow({
  id,
  coolName,
  fundType,
  currency,
  performance1,
  isInvestable,
  minInvestableAmounts,
}: Plan) {
  const minimums = Object.entries(minInvestableAmounts).map(([code, amount]) => `${amount} ${code}`)
  return {
    ID: String(id),
    'COOL NAME': coolName,
    'FUND TYPE': fundType,
    CURRENCY: currency,
    '1 YEAR': performance1 === null ? '' : `${performance1} %`,
    MINIMUM: minimums.join(', '),
    INVESTABLE: isInvestable ? 'yes' : 'no',
  }
}
