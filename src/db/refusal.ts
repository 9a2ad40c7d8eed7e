// What the triggers of the database refuse: each raises one of these codes (migrations/*.sql).

export const refusalCodes = ['append_only', 'entry_order', 'partner_closed', 'two_live_secrets'] as const

export type RefusalCode = (typeof refusalCodes)[number]

const pattern = new RegExp(`\\b(?:${refusalCodes.join('|')})\\b`)

/** @returns the code that a trigger raised, if the error or one that it wraps comes from there. */
export function findRefusal(error: unknown): RefusalCode | undefined {
  if (!(error instanceof Error)) return undefined
  const [found] = pattern.exec(error.message) ?? []
  return refusalCodes.find((code) => code === found) ?? findRefusal(error.cause)
}
