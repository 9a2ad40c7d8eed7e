// Rules for fields that don't merge as one value. Not in plan-schema.ts, because the Worker merges plans without the schema.

export interface MergeRule {
  /** A list whose items merge one by one. Two additions of a plan have no common list: then different lists conflict. */
  isSet?: true
  /** Computes the value from the other fields after the merge. */
  compute?: (fields: Readonly<Record<string, unknown>>) => unknown
  /** The field with the date of a return. A new return conflicts with another person's new date, because the return may be of another month. */
  dateField?: string
}

const monthlyReturn: MergeRule = { dateField: 'performanceDate' }

export const mergeRules: Readonly<Record<string, MergeRule>> = {
  viewableIn: { isSet: true },
  isInvestable: { compute: ({ nonInvestableNote }) => nonInvestableNote === null },
  performance1: monthlyReturn,
  performance3: monthlyReturn,
  performance5: monthlyReturn,
  performance10: monthlyReturn,
}
