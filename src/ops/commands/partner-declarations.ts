// ops partner …
import { abbreviate } from '../../abbreviate.ts'
import { parseDuration } from '../core/time-arguments.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { UserError } from '../shared/user-error.ts'
import { pastTimeFlag, sinceFlag } from './shared-flags.ts'
import type { Declaration } from './verb.ts'

const partner = { shortName: {} } as const
const credentials = 'an object with clientId, clientSecret, shortName and country'
/** A change that prints the partner. */
const change = { args: partner, changes: 'at-once', json: 'the partner as an object' } as const
const maxGraceDays = 30

/** @throws UserError unless it is a time from 0 to 30 days. */
function parseGrace(text: string): { text: string; seconds: number } {
  const seconds = parseDuration(text)
  if (seconds !== undefined && seconds <= maxGraceDays * 86_400) return { text, seconds }
  throw new UserError(
    `--grace must be 0 or a time of at most ${maxGraceDays} days, such as 30m, 24h or 7d; it is ${abbreviate(text)}.`,
  )
}

export const partnerDeclarations = {
  create: {
    help: 'onboard a partner; prints its client ID and, only this once, its client secret',
    example: 'partner create --short-name acme --name "Acme Wallet" --country KE',
    flags: {
      shortName: { value: '<name>', help: 'its name in paths: 2 to 32 of a-z, 0-9 and -' },
      name: { value: '<name>', help: 'its name for people' },
      country: { value: '<code>', help: 'the country whose plans it lists, ISO 3166-1 alpha-2' },
    },
    changes: 'at-once',
    json: credentials,
  },
  list: {
    help: 'list all partners',
    example: 'partner list --json',
    json: 'an array',
    progress: 'Reading the partners',
  },
  show: {
    help: 'show a partner and when its secrets were made, never a secret',
    example: 'partner show acme',
    args: partner,
    json: 'an object',
  },
  identify: {
    help: 'say whose live client secret a text from standard input is, and which command ends it; never prints the secret',
    example: 'partner identify < FILE',
    store: 'itself',
    json: 'an object',
    refusesWords:
      'Never pass a secret as an argument: process lists and the history of your shell show it. It is read from standard input.',
  },
  rotate: {
    help: 'make a new client secret, printed only this once; the old one works for a grace period',
    example: 'partner rotate acme --grace 24h',
    args: partner,
    flags: {
      grace: {
        value: '<time>',
        help: 'how long the old secret still works, such as 30m, 24h or 7d; 0 ends it now',
        default: '24h',
        parse: parseGrace,
      },
      replaceNewest: {
        help: 'the newest secret was lost: end it now, and let the older one work as long as it would have',
        conflicts: ['grace'],
      },
    },
    changes: 'at-once',
    asks: 'that --remote asks',
    json: credentials,
  },
  lockdown: {
    help: 'for a leaked secret: end every secret and every token now, and make a new secret, printed only this once',
    example: 'partner lockdown acme --note "Secret on GitHub."',
    args: partner,
    changes: 'at-once',
    asks: 'that --remote asks',
    json: 'an object with clientId, clientSecret, shortName, country, tokensValidFrom and the message to the partner',
  },
  endTokens: {
    help: `end all tokens that a partner has got so far, within ${freshness}; its secrets still work, and get new tokens`,
    example: 'partner end-tokens acme --note "A token was in a log."',
    ...change,
  },
  suspend: {
    help: 'block a partner, its live tokens included; resume unblocks it',
    example: 'partner suspend acme',
    ...change,
  },
  resume: {
    help: 'end a suspension',
    example: 'partner resume acme',
    ...change,
  },
  setCountry: {
    help: 'let a partner list the plans of another country',
    example: 'partner set-country acme UG',
    ...change,
    args: { shortName: {}, country: {} },
  },
  rename: {
    help: 'change the name for people',
    example: 'partner rename acme "Acme Pay"',
    ...change,
    args: { shortName: {}, name: {} },
  },
  setContact: {
    help: 'note how to reach a partner; the contact is in no record, and is deleted when the partner is closed',
    example: 'partner set-contact acme integrations@acme.example',
    ...change,
    args: { shortName: {}, contact: { isOptional: true } },
    hides: ({ contact }: { contact: string | undefined }) => (contact === undefined ? [] : [contact]),
    flags: { remove: { help: 'delete the contact' } },
  },
  close: {
    help: 'close a partner for good: deletes its secrets and its contact, and keeps its short name and its record',
    example: 'partner close acme --note "Contract ended."',
    ...change,
    asks: 'on a terminal',
  },
  log: {
    help: 'show who changed partners, when and why',
    example: 'partner log acme',
    args: { shortName: { isOptional: true } },
    flags: { since: sinceFlag },
    json: 'an array, the newest entry first',
    progress: 'Reading the record',
  },
  preview: {
    help: 'show the plans that a partner gets, or got at a past time',
    example: 'partner preview acme',
    args: partner,
    flags: { at: pastTimeFlag },
    json: 'the plans as an array, as in the response',
  },
  usage: {
    help: 'show how a partner uses a deployed environment',
    example: 'partner usage acme --since 30d --remote --env production',
    args: partner,
    flags: {
      since: { value: '<time>', help: 'a duration such as 7d, a date, or a time with its zone', default: '30d' },
    },
    store: 'itself',
    json: 'an object',
  },
} as const satisfies Readonly<Record<string, Declaration>>
