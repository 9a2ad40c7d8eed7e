// What the triggers of the database refuse: each raises one of these codes (migrations/*.sql).
import { findCause } from './database.ts'

export const refusalCodes = [
  'outdated_command_line',
  'entry_order',
  'partner_closed',
  'two_live_secrets',
  'secret_fingerprint',
  'append_only',
  'publication_state',
  'publication_approval',
  'publication_incomplete',
  'revision_order',
  'plan_changed',
  'identifier_taken',
  'plans_disagree',
  'fields_differ',
] as const

export type RefusalCode = (typeof refusalCodes)[number]

const pattern = new RegExp(`\\b(?:${refusalCodes.join('|')})\\b`)

/** @returns the code that a trigger raised. */
export function findRefusal(error: unknown): RefusalCode | undefined {
  const [found] = pattern.exec(findCause(error)) ?? []
  return refusalCodes.find((code) => code === found)
}
