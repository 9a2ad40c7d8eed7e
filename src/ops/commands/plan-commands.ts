// plan list, show, offer, withdraw, close, open, set, why
import type { Command } from 'commander'
import type { FilterName } from '../../catalog/plan-filters.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { compareChanges } from '../core/catalog-difference.ts'
import { findPlan, listPlans } from '../core/catalog-plans.ts'
import { closePlan, openPlan, setFields, setViewable, type PlanResult } from '../core/plan-changes.ts'
import type { PublicationRequest } from '../core/publications.ts'
import { explainPlan, selectPendingChanges } from '../core/plan-explanation.ts'
import { parseOptionalTime } from '../core/time-arguments.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatPairs, formatTable, putOnOneLine } from '../terminal/table.ts'
import {
  acceptOption,
  actorOption,
  addCommand,
  addPublicationOptions,
  dueTimeOption,
  pastTimeOption,
} from './add-command.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'
import { formatCountries } from './difference-output.ts'
import { describeExplanation, describeFix, describePendingChange } from './explanation-output.ts'
import { addFilterOptions, parseFilterOptions } from './filter-options.ts'
import {
  printPublication,
  publicationToJson,
  readPublicationRequest,
  type PublicationOptions,
} from './publication-output.ts'

interface WhyOptions extends OutputOptions, Partial<Record<FilterName, string>> {
  partner: string
  at?: string
}

export function addPlanCommands(program: Command, context: CommandContext): void {
  const { io, withStore } = context
  const plan = program
    .command('plan')
    .description('see and change single plans, and who sees them; ID is the identifier of a plan, or its id')
  const add = (usage: string, description: string, example: string, json: string) =>
    addCommand(plan, usage, description, example).option('--json', `print ${json}`)

  add('list', 'list all plans, or the plans that are viewable in a country', 'list --country KE', 'an array')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .action(async ({ country, ...options }: { country?: string } & OutputOptions) => {
      const plans = await withProgress(io, 'Reading the catalog', () =>
        withStore(options, (store) => listPlans(store, country)),
      )
      const note = plans.length === 0 ? describeEmptyList(country, options) : undefined
      printResult(io, options, plans.map(summarize), formatPlans(plans), note)
    })

  add('show <id>', 'show every field of a plan', 'show dhahabu-gold-tracker', 'the plan as it is in a catalog file')
    .addOption(pastTimeOption)
    .action(async (id: string, { at, ...options }: { at?: string } & OutputOptions) => {
      const atSeconds = parseOptionalTime(at)
      const found = await withStore(options, (store) => findPlan(store, id, atSeconds))
      printResult(io, options, found, formatPlan(found))
    })

  const addChange = (usage: string, description: string, example: string) =>
    add(usage, description, example, 'an object with plan and publication')

  const addViewability = (verb: string, description: string, isViewable: boolean) =>
    addPublicationOptions(addChange(`${verb} <id>`, description, `${verb} mwamba-money-market-fund --country KE`))
      .requiredOption('--country <code>', 'the country, ISO 3166-1 alpha-2')
      .action((id: string, options: { country: string } & PublicationOptions) =>
        change(options, (store, request) => setViewable(store, id, { country: options.country, isViewable }, request)),
      )
  addViewability('offer', 'put a plan on the list of a country', true)
  addViewability('withdraw', 'take a plan off the list of a country', false)

  addChange(
    'close <id>',
    'close a plan to new investment; it stays on its lists',
    'close mwamba-money-market-fund --note "Sold out."',
  )
    .option('--note <text>', 'the reason, for partners to show, and for the record')
    .addOption(actorOption)
    .addOption(dueTimeOption)
    .addOption(acceptOption)
    .action((id: string, options: PublicationOptions) =>
      // The record takes one line; partners get the text as it is.
      change(
        options.note === undefined ? options : { ...options, note: putOnOneLine(options.note).trim() },
        (store, request) => closePlan(store, id, options.note, request),
      ),
    )

  addPublicationOptions(
    addChange('open <id>', 'open a plan to new investment, and remove its note', 'open mwamba-money-market-fund'),
  ).action((id: string, options: PublicationOptions) =>
    change(options, (store, request) => openPlan(store, id, request)),
  )

  addPublicationOptions(
    addChange(
      'set <id> <assignments...>',
      'change fields: name=value, with null for nothing, and a dot for a part, such as category.id=3',
      'set mwamba-money-market-fund performance1=12.4 minTopUpAmounts.KES=500',
    ),
  ).action(async (id: string, assignments: string[], options: PublicationOptions) => {
    const result = await publishPlan(options, (store, request) => setFields(store, id, assignments, request))
    const { before, plan: after, publication } = result
    if (options.json) return printJson(result)
    const lines = formatCountries(compareChanges([{ before, after }]))
    if (publication === undefined) lines.push(`${after.identifier} has these values already.`)
    io.stdout.write(lines.map((line) => `${line}\n`).join(''))
    printPublication(io, publication, options)
  })

  addFilterOptions(
    add(
      'why <id>',
      'say why a partner sees a plan, or does not',
      'why mwamba-money-market-fund --partner acme --currency USD',
      'an object with isSeen, reason, sentence, fix and pending',
    ),
  )
    .requiredOption('--partner <short-name>', 'the partner')
    .addOption(pastTimeOption)
    .action(async (id: string, options: WhyOptions) => {
      const { partner: shortName, at } = options
      const filter = parseFilterOptions(options)
      const atSeconds = parseOptionalTime(at)
      const { explanation, pending } = await withStore(options, async (store) => {
        const found = await explainPlan(store, { plan: id, shortName, filter, atSeconds })
        const isAboutPlan = found.reason === 'no_such_plan' || 'plan' in found
        const isNow = atSeconds === undefined && isAboutPlan
        return { explanation: found, pending: isNow ? await selectPendingChanges(store, id) : [] }
      })
      const { reason, partner } = explanation
      const sentence = describeExplanation(explanation, id, atSeconds)
      const fix = atSeconds === undefined ? describeFix(explanation, options) : null
      const changes = pending.map((later) => describePendingChange(later, partner.country))
      const answer = { isSeen: reason === 'viewable', reason, sentence, fix, pending: changes }
      const lines = [[sentence, fix].filter(Boolean).join(' '), ...changes]
      printResult(io, options, answer, `${lines.join('\n')}\n`)
    })

  async function publishPlan(
    options: PublicationOptions,
    work: (store: Store, request: PublicationRequest) => Promise<PlanResult>,
  ): Promise<PlanResult> {
    const request = await readPublicationRequest(context, options)
    return withStore(options, (store) => work(store, request))
  }

  async function change(
    options: PublicationOptions,
    work: (store: Store, request: PublicationRequest) => Promise<PlanResult>,
  ) {
    const result = await publishPlan(options, work)
    if (options.json) return printJson(result)
    const { plan: changed, publication } = result
    const where = changed.viewableIn.length === 0 ? 'nowhere' : `in ${changed.viewableIn.join(', ')}`
    const investable = changed.isInvestable ? 'open to investment' : 'closed to investment'
    const verb = publication === undefined ? 'is already' : publication.state === 'published' ? 'is' : 'will be'
    io.stdout.write(`${changed.identifier} ${verb} viewable ${where}, and ${investable}.\n`)
    printPublication(io, publication, options)
  }

  function printJson({ plan: changed, publication }: PlanResult) {
    io.stdout.write(`${JSON.stringify({ plan: changed, publication: publicationToJson(publication) })}\n`)
  }
}

function describeEmptyList(country: string | undefined, target: Target): string {
  if (country === undefined) {
    return `The catalog has no plan. To import plans: ${describeCommand(target, 'catalog', 'import', 'FILE')}`
  }
  const all = describeCommand(target, 'plan', 'list')
  return `No plan is viewable in ${country}. To see all plans, and where they are viewable: ${all}`
}

function formatPlans(plans: readonly CatalogPlan[]): string {
  const rows = plans.map((plan) => ({
    IDENTIFIER: plan.identifier,
    'FUND TYPE': plan.fundType,
    CURRENCY: plan.currency,
    INVESTABLE: plan.isInvestable ? 'yes' : 'no',
    'VIEWABLE IN': plan.viewableIn.join(' '),
  }))
  return formatTable(rows)
}

function formatPlan(plan: CatalogPlan): string {
  return formatPairs(
    Object.entries(plan).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

function summarize({ id, identifier, name, fundType, currency, category, isInvestable, viewableIn }: CatalogPlan) {
  return { id, identifier, name, fundType, currency, categoryId: category?.id ?? null, isInvestable, viewableIn }
}
