// ops plan …
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { compareChange } from '../../core/differences/catalog-difference.ts'
import { findPlan, listPlans, listSummaries, type PlanSummary } from '../../core/catalog/catalog-plans.ts'
import type { PlanChange, Publication } from '../../core/publications/publications.ts'
import {
  prepareClosing,
  prepareFields,
  prepareOpening,
  prepareViewable,
  type PreparedPlan,
} from '../../core/plans/plan-changes.ts'
import { findListedCountry, selectPendingChanges } from '../../core/plans/plan-explanation.ts'
import { toUpperCaseCode } from '../../shared/country.ts'
import { formatDifference, printPublication, publicationToJson } from '../catalog/publication-output.ts'
import { publishShown } from '../catalog/publish-shown.ts'
import { describePending } from './why.ts'
import type { Store } from '../../store/store.ts'
import type { Output, Run } from '../frame/run.ts'
import { timeFlag } from '../frame/shared-flags.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const args = { id: {} } as const
const country = {
  value: '<code>',
  help: 'the country, ISO 3166-1 alpha-2; may be repeated',
  isRequired: true,
  isList: true,
  parse: toUpperCaseCode,
} as const
const json = 'an object with plan and publication'

export const plan = {
  list: verb({
    help: 'list the plans of the catalog, of a country or of a partner, now, in the past, or with what is scheduled',
    example: 'plan list --partner acme',
    flags: {
      country: { value: '<code>', help: 'only the plans that are viewable in this country', parse: toUpperCaseCode },
      partner: {
        value: '<short-name>',
        help: 'the plans that this partner gets; with --json, as in the response',
        conflicts: ['country'],
      },
      at: timeFlag,
    },
    json: 'an array of the plans as they are in a catalog file',
    async run({ country: code, partner, at, json: isJson }, { store }) {
      const listed = partner === undefined ? code : await findListedCountry(store, partner, at)
      const plans = await (isJson ? listPlans : listSummaries)(store, listed, at)
      const none = listed === undefined ? 'The catalog has no plan.' : `No plan is viewable in ${listed}.`
      return {
        data: partner === undefined ? plans : plans.map(toResponse),
        text: plans.map(toRow),
        note: plans.length === 0 ? none : undefined,
      }
    },
  }),

  show: verb({
    help: 'show every field of a plan, and the changes that wait for their time or for approval',
    example: 'plan show dhahabu-gold-tracker',
    args,
    flags: { at: timeFlag },
    json: 'the plan as it is in a catalog file',
    async run({ id, at }, { store }) {
      const data = await findPlan(store, id, at)
      const pending = at === undefined ? await selectPendingChanges(store, id) : []
      const note = pending.map(describePending).join('\n')
      return { data, note: note || undefined }
    },
  }),

  offer: verb({
    help: 'put a plan on the list of a country',
    example: 'plan offer mwamba-money-market-fund --country KE',
    args,
    flags: { country },
    changes: 'publication',
    json,
    async run({ id, country: countries, at }, run) {
      const result = await publishPlan(await prepareViewable(run.store, id, { countries, isViewable: true }, at), run)
      await warnOfPendingLists(run, result)
      return report(run, result)
    },
  }),

  withdraw: verb({
    help: 'take a plan off the list of a country',
    example: 'plan withdraw mwamba-money-market-fund --country KE --note "Wrong country."',
    args,
    flags: { country },
    changes: 'publication',
    json,
    async run({ id, country: countries, at }, run) {
      const result = await publishPlan(await prepareViewable(run.store, id, { countries, isViewable: false }, at), run)
      await warnOfPendingLists(run, result)
      return report(run, result)
    },
  }),

  close: verb({
    help: 'close a plan to new investment; it stays on its lists',
    example: 'plan close mwamba-money-market-fund --public-note "Sold out."',
    args,
    flags: {
      publicNote: { value: '<text>', help: 'why, for partners to show to their customers', isRequired: true },
    },
    changes: 'publication',
    json,
    async run({ id, publicNote, at }, run) {
      return report(run, await publishPlan(await prepareClosing(run.store, id, publicNote, at), run))
    },
  }),

  open: verb({
    help: 'open a plan to new investment, and remove its note',
    example: 'plan open mwamba-money-market-fund',
    args,
    changes: 'publication',
    json,
    async run({ id, at }, run) {
      return report(run, await publishPlan(await prepareOpening(run.store, id, at), run))
    },
  }),

  set: verb({
    help: 'change fields: name=value, with null for nothing, and a dot for a part, such as category.id=3',
    example: 'plan set mwamba-money-market-fund performance1=12.4 minTopUpAmounts.KES=500',
    args: { id: {}, assignments: { isList: true } },
    changes: 'publication',
    json,
    async run({ id, assignments, at }, run) {
      const result = await publishPlan(await prepareFields(run.store, id, assignments, at), run)
      const { before, plan: after, publication } = result
      const lines = publication ? formatDifference([{ before, after }]) : [`${id} has these values already.`]
      return report(run, result, lines)
    },
  }),
}

interface PlanResult {
  /** The plan before and after the change. */
  before: CatalogPlan
  plan: CatalogPlan
  /** undefined when there was nothing to change. */
  publication: Publication | undefined
}

async function publishPlan(prepared: PreparedPlan, run: ChangeRun): Promise<PlanResult> {
  const { proposal, publication } = await publishShown(prepared, run, { nameEffect: describeInvestability })
  const [change] = proposal.changes
  return { before: change?.before ?? prepared.before, plan: change?.after ?? prepared.plan, publication }
}

function report(run: Run, result: PlanResult, lines = [describeState(result)]): Output {
  const { plan: after, publication } = result
  run.report(...lines)
  printPublication(run, publication)
  return { data: { plan: after, publication: publicationToJson(publication) }, text: '' }
}

/** A change is warned of them before it is made. A plan that stays as it is may still appear or disappear later. */
async function warnOfPendingLists({ store, warn }: Run & { store: Store }, { plan: after, publication }: PlanResult) {
  if (publication !== undefined) return
  const pending = (await selectPendingChanges(store, String(after.id))).filter(
    ({ publication: { willConflict }, change }) => {
      const { appears, disappears } = compareChange(change)
      return willConflict === null && appears.length + disappears.length > 0
    },
  )
  warn(...pending.map((change) => `Warning: It will not stay so. ${describePending(change)}`))
}

/** Says in full what customers will read. @returns undefined when that stays the same. */
function describeInvestability([change]: readonly PlanChange[]): string | undefined {
  const { before, after } = change ?? {}
  if (!before || !after) return undefined
  const [old, note] = [before.nonInvestableNote, after.nonInvestableNote].map((text) => text && JSON.stringify(text))
  if (old === note) return undefined
  const where = after.viewableIn.length === 0 ? ', on no list' : ` in ${after.viewableIn.join(', ')}`
  const state = note ? (old ? 'stays closed' : 'will be closed') : 'will be open'
  const read = note ? `will read: ${note}${old ? ` instead of ${old}` : ''}` : `will no longer read: ${old}`
  return `${after.identifier} ${state} to new investment${where}. Customers ${read}`
}

function describeState({ plan: after, publication }: PlanResult): string {
  const { identifier, viewableIn, nonInvestableNote: note } = after
  const where = viewableIn.length === 0 ? 'nowhere' : `in ${viewableIn.join(', ')}`
  const verbs = publication === undefined ? 'is still' : publication.state === 'published' ? 'is' : 'will be'
  const state = note === null ? 'open to investment.' : `closed to investment: ${JSON.stringify(note)}`
  return `${identifier} ${verbs} viewable ${where}, and ${state}`
}

const toResponse = ({ viewableIn: _viewableIn, ...listed }: PlanSummary) => listed

function toRow({ identifier, name, fundType, currency, isInvestable, viewableIn }: PlanSummary) {
  return { identifier, name, fundType, currency, open: isInvestable, viewableIn }
}
