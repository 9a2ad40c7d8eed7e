// Rules for the fields of a plan that don't merge as one value by itself. Not in plan-schema.ts, which declares the fields: the Worker's
// schedule merges plans without loading the schema.

export interface MergeRule {
  /** A list whose items merge one by one. */
  isSet?: true
  /** Computes the value from the merged fields. */
  compute?: (fields: Readonly<Record<string, unknown>>) => unknown
  /** The field with the date of a return. A new return conflicts with a new date by somebody else, because both belong to one month. */
  dateField?: string
}

const ofMonth: MergeRule = { dateField: 'performanceDate' }

export const mergeRules: Readonly<Record<string, MergeRule>> = {
  viewableIn: { isSet: true },
  isInvestable: { compute: ({ nonInvestableNote }) => nonInvestableNote === null },
  performance1: ofMonth,
  performance3: ofMonth,
  performance5: ofMonth,
  performance10: ofMonth,
}
