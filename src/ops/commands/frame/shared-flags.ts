// Declares the flags that many verbs have.
import { readOrigin } from '../../../api/origin.ts'
import { parseDueTime, parsePast, parseAt } from '../../shared/time-arguments.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Flag, Flags, Verb } from './verb.ts'

const targetFlags = {
  remote: { help: 'work on a deployed environment instead of the local state' },
  env: { value: '<name>', help: 'which deployed environment: staging or production' },
  persistTo: {
    value: '<dir>',
    help: 'the folder of the local state, relative to the project',
    conflicts: ['remote'],
  },
} as const satisfies Flags

const changeFlags = {
  as: { value: '<name>', help: 'who makes the change; by default OPS_ACTOR, then user.email of git' },
  note: { value: '<text>', help: 'why, for the record: partners never see it' },
} as const satisfies Flags

export const dueTimeFlag = {
  value: '<time>',
  help: 'when to publish, such as "tomorrow 06:00", 2026-12-01T06:00+03:00 or +2h; now by default',
  parse: parseDueTime,
} as const satisfies Flag

export const timeFlag = {
  value: '<time>',
  help: 'a past or future time to show, such as yesterday, "2026-10-03 12:00", -2h or +2h; now by default',
  parse: parseAt,
} as const satisfies Flag

export const sinceFlag = {
  value: '<time>',
  help: 'only from this time on: 7d for the last seven days, yesterday, 2026-10-03 or "2026-10-03 12:00"',
  parse: parsePast,
} as const satisfies Flag

export const forceFlag = { help: 'replace the file if there is one' } as const satisfies Flag

export const originRule =
  '--url must be an origin such as https://catalog.example.com, or an http: origin of this machine.'

/** Parses `--url`. @throws UserError unless `text` is an origin to which credentials may be sent: see `originRule`. */
export function parseOrigin(text: string): string {
  const origin = readOrigin(text)
  if (origin === undefined) throw new UserError(originRule)
  return origin
}

/** @returns the flags of a verb by name: the flags of its definition, then the shared flags that its definition asks for. */
export function listFlags({ flags = {}, json, changes, asks, store }: Verb): Flags {
  const shared = {
    ...(changes === 'publication' && { at: dueTimeFlag }),
    ...(changes && changeFlags),
    ...((asks || changes === 'publication') && {
      yes: { help: 'skip the question before a change of a deployed environment' },
    }),
    ...(json !== undefined && { json: { help: `print ${json}` } }),
    ...(store !== 'none' && targetFlags),
  }
  // `flags` comes first, for the order in --help, and last, because a verb's own flag replaces a shared flag of the same name.
  return { ...flags, ...shared, ...flags }
}
