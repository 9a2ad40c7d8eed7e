// The flags that many verbs have.
import { readOrigin } from '../../../api/origin.ts'
import { parseDueTime, parsePast, parseTime } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Flag, Flags, Verb } from './verb.ts'

const targetFlags = {
  remote: { help: 'work on a deployed environment, not on the local state' },
  env: { value: '<name>', help: 'the deployed environment, as in wrangler: staging or production' },
  persistTo: {
    value: '<dir>',
    help: 'the local state folder, as in wrangler: relative to the project',
    conflicts: ['remote'],
  },
} as const satisfies Flags

const changeFlags = {
  as: { value: '<name>', help: 'who makes the change; otherwise OPS_ACTOR, or the user.email of git' },
  note: { value: '<text>', help: 'why, for the record' },
} as const satisfies Flags

export const dueTimeFlag = {
  value: '<time>',
  help: 'publish it then, such as "tomorrow 06:00", 2026-12-01T06:00+03:00 or +2h; now by default',
  parse: parseDueTime,
} as const satisfies Flag

export const timeFlag = {
  value: '<time>',
  help: 'as it was then, such as yesterday, "2026-10-03 12:00" or -2h, or will be; now by default',
  parse: parseTime,
} as const satisfies Flag

export const sinceFlag = {
  value: '<time>',
  help: 'only since then: 7d, yesterday, 2026-10-03, or a time such as "2026-10-03 12:00"',
  parse: parsePast,
} as const satisfies Flag

export const forceFlag = { help: 'replace the file if there is one' } as const satisfies Flag

export const originRule = '--url must be an origin such as https://catalog.example.com; http: only for this machine.'

/** @throws UserError unless it is an origin that may get credentials. */
export function parseOrigin(text: string): string {
  const origin = readOrigin(text)
  if (origin === undefined) throw new UserError(originRule)
  return origin
}

/** @returns the flags of a verb by name, its own first. */
export function listFlags({ flags = {}, json, changes, asks, store }: Verb): Flags {
  const shared = {
    ...(changes === 'publication' && { at: dueTimeFlag }),
    ...(changes && changeFlags),
    ...((asks || changes === 'publication') && { yes: { help: 'skip the question that --remote may ask' } }),
    ...(json !== undefined && { json: { help: `print ${json}` } }),
    ...(store !== 'none' && targetFlags),
  }
  // A flag of its own replaces a shared one.
  return { ...flags, ...shared, ...flags }
}
