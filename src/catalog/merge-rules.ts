// Rules for the fields of a plan that don't merge as one value by itself. Not in plan-schema.ts, which declares the fields: the Worker's
// schedule merges plans without loading the schema.

export interface MergeRule {
  /** A list whose items merge one by one. */
  isSet?: true
  /** Computes the value from the merged fields. */
  compute?: (fields: Readonly<Record<string, unknown>>) => unknown
  /** The name of another field: a new value of one conflicts with somebody else's new value of the other. A return and its date belong together. */
  partner?: string
}

const ofMonth: MergeRule = { partner: 'performanceDate' }

export const mergeRules: Readonly<Record<string, MergeRule>> = {
  viewableIn: { isSet: true },
  isInvestable: { compute: ({ nonInvestableNote }) => nonInvestableNote === null },
  performance1: ofMonth,
  performance3: ofMonth,
  performance5: ofMonth,
  performance10: ofMonth,
}
