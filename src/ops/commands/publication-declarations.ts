// ops catalog log, show, undo, redo, approve, cancel
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'
import type { Declaration } from './verb.ts'

/** @throws UserError unless it is the number of a publication. */
function parseNumber(text: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(text)) return Number(text)
  throw new UserError(`The number of a publication is a whole number, such as 12; it is ${abbreviate(text)}.`)
}

const publication = { number: { parse: parseNumber } } as const

function declareDecision(example: string, help: string) {
  return {
    help,
    example,
    args: publication,
    changes: 'at-once',
    json: 'the publication as an object',
  } as const satisfies Declaration
}

/** Of the commands that compute a change from the record. */
const prepared = {
  args: publication,
  flags: { dryRun: { help: 'show what would change for partners, country by country, and change nothing' } },
  changes: 'publication',
  asks: 'on a terminal, and with --remote',
  json: 'an object with the countries and the publication',
} as const

export const publicationDeclarations = {
  log: {
    help: 'list the publications: who changed the catalog, when and why, the latest first',
    example: 'catalog log --since 7d',
    flags: {
      plan: { value: '<id>', help: 'only publications that changed this plan' },
      since: {
        value: '<time>',
        help: 'only since then: a duration such as 7d, a date (from 00:00 UTC), or a time with its zone',
      },
      pending: { help: 'only publications that wait for their time or for approval' },
    },
    json: 'an array, the latest first',
    progress: 'Reading the record',
  },
  show: {
    help: 'show a publication, and what partners of each country gain, lose and see changed',
    example: 'catalog show 12',
    args: publication,
    json: 'an object, with each plan before and after',
  },
  undo: {
    ...prepared,
    help: 'take a publication back, unless later ones changed the same fields',
    example: 'catalog undo 12',
    flags: {
      ...prepared.flags,
      plan: { value: '<id>', help: 'take back only the change of this plan; may be repeated', isList: true },
      exceptChanged: { help: 'leave the plans with a field that was changed later, and name them' },
    },
  },
  redo: {
    ...prepared,
    help: 'make a conflicted publication again: its values replace those of others',
    example: 'catalog redo 12',
  },
  approve: {
    ...declareDecision('catalog approve 12', 'let a publication of another operator be published'),
    asks: 'that --remote asks',
  },
  cancel: declareDecision('catalog cancel 12', 'end a publication that waits, is scheduled, or conflicted'),
} as const satisfies Readonly<Record<string, Declaration>>
