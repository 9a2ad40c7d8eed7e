// ops keys …
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import type { Argument, Declaration, Verbs } from './declaration.ts'

const keys = 'an array of the keys'

/** @throws UserError unless it is a number of seconds. */
function parseWait(text: string): number {
  if (/^[0-9]{1,4}$/.test(text)) return Number(text)
  throw new UserError(`--wait must be a number of seconds, such as 60; it is ${abbreviate(text)}.`)
}

/** partner log and keys log: two views of one record. */
export function declareLog<const Args extends Record<string, Argument>>(example: string, help: string, args: Args) {
  return {
    help,
    example,
    args,
    flags: {
      since: { value: '<time>', help: 'only changes since then: 7d, 2026-10-03, or a time with its zone' },
    },
    json: 'an array, the newest entry first',
    progress: 'Reading the record',
  } as const satisfies Declaration
}

export const keysDeclarations = {
  rotate: {
    help: 'let a new key sign; earlier keys still verify, so that live tokens stay valid',
    example: 'keys rotate',
    flags: {
      wait: {
        value: '<seconds>',
        help: 'with --remote: how long a new key spreads before it signs; 60 by default',
        parse: parseWait,
      },
    },
    rule: ({ remote, wait }) =>
      remote === false && wait !== undefined ? '--wait is for deployed keys: add --remote.' : undefined,
    changes: 'at-once',
    asks: 'that --remote asks before it replaces a key that was set by other means',
    json: keys,
  },
  list: {
    help: 'list the keys and when they were made, the signing key first; never a key itself',
    example: 'keys list',
    store: 'itself',
    json: keys,
  },
  drop: {
    help: 'delete a key that no longer signs: tokens that it signed are refused from then on',
    example: 'keys drop KID',
    args: { kid: {} },
    changes: 'at-once',
    asks: 'that --remote asks',
    json: keys,
  },
  log: declareLog('keys log', 'show who changed keys, when and why', {}),
} as const satisfies Verbs
