// partner log and keys log: two views of one record.
import type { Argument, Declaration } from './declaration.ts'

export function declareLog<const Args extends Record<string, Argument>>(example: string, help: string, args: Args) {
  return {
    help,
    example,
    args,
    flags: {
      since: { value: '<time>', help: 'only changes since then: 7d, 2026-10-03, or a time with its zone' },
      verify: { help: 'check instead that nobody has changed an entry of the change record of partners and keys' },
    },
    rule: ({ shortName, since, verify }) =>
      verify === true && (shortName !== undefined || since !== undefined)
        ? '--verify checks the whole record: leave the short name and --since out.'
        : undefined,
    json: 'an array, the newest entry first; with --verify an object',
    progress: 'Reading the record',
  } as const satisfies Declaration
}
