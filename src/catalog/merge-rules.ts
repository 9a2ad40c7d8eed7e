// The fields of a plan that don't merge as one independent value. plan-schema.ts declares the fields; the Worker's schedule merges without
// it.

export interface MergeRule {
  /** A list whose items are merged each. */
  isSet?: true
  /** Not merged, but computed from the merged fields. */
  compute?: (fields: Readonly<Record<string, unknown>>) => unknown
  /** A new value conflicts with a new value of this field by somebody else: a return and its date belong to one month. */
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
