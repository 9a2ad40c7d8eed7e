// ops plan …
import type { Declaration } from './verb.ts'
import { pastTimeFlag } from './shared-flags.ts'

const plan = { id: {} } as const
const country = {
  value: '<code>',
  help: 'the country, ISO 3166-1 alpha-2; may be repeated',
  isRequired: true,
  isList: true,
} as const
const published = 'an object with plan and publication'

function declareViewability(verb: string, help: string) {
  return {
    help,
    example: `plan ${verb} mwamba-money-market-fund --country KE`,
    args: plan,
    flags: { country },
    changes: 'publication',
    json: published,
  } as const satisfies Declaration
}

export const planDeclarations = {
  list: {
    help: 'list all plans, or the plans that are viewable in a country, now or at a past time',
    example: 'plan list --country KE',
    flags: {
      country: { value: '<code>', help: 'only the plans that are viewable in this country' },
      at: pastTimeFlag,
    },
    json: 'an array',
    progress: 'Reading the catalog',
  },
  show: {
    help: 'show every field of a plan, and the changes that wait for their time or for approval',
    example: 'plan show dhahabu-gold-tracker',
    args: plan,
    flags: { at: pastTimeFlag },
    json: 'the plan as it is in a catalog file',
  },
  offer: declareViewability('offer', 'put a plan on the list of a country'),
  withdraw: declareViewability('withdraw', 'take a plan off the list of a country'),
  close: {
    help: 'close a plan to new investment; it stays on its lists',
    example: 'plan close mwamba-money-market-fund --note "Sold out."',
    args: plan,
    flags: { note: { value: '<text>', help: 'the reason, for partners to show, and for the record' } },
    changes: 'publication',
    json: published,
  },
  open: {
    help: 'open a plan to new investment, and remove its note',
    example: 'plan open mwamba-money-market-fund',
    args: plan,
    changes: 'publication',
    json: published,
  },
  set: {
    help: 'change fields: name=value, with null for nothing, and a dot for a part, such as category.id=3',
    example: 'plan set mwamba-money-market-fund performance1=12.4 minTopUpAmounts.KES=500',
    args: { id: {}, assignments: { isList: true } },
    changes: 'publication',
    json: published,
  },
  why: {
    help: 'say why a partner sees a plan, or does not',
    example: 'plan why mwamba-money-market-fund --partner acme',
    args: plan,
    flags: {
      partner: { value: '<short-name>', help: 'the partner', isRequired: true },
      at: pastTimeFlag,
    },
    json: 'an object with isSeen, reason, sentence, fix, settledAt and pending',
  },
} as const satisfies Readonly<Record<string, Declaration>>
