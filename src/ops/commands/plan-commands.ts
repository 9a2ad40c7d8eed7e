// The code of ops plan …
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { compareChanges } from '../core/catalog-difference.ts'
import { findPlan, listPlans } from '../core/catalog-plans.ts'
import { closePlan, openPlan, setFields, setViewable, type PlanResult } from '../core/plan-changes.ts'
import { formatOptionalTime } from '../core/iso-time.ts'
import { explainPlan, findSettlingTime, selectPendingChanges } from '../core/plan-explanation.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { formatPairs } from '../terminal/table.ts'
import type { Handlers } from './verb.ts'
import { formatCountries } from './difference-output.ts'
import { describeExplanation, describeFix, describePendingChange, describeSettling } from './explanation-output.ts'
import type { planDeclarations } from './plan-declarations.ts'
import { createRequest, printPublication, publicationToJson } from './publication-output.ts'
import type { Output, Run } from './run.ts'

export const planCommands: Handlers<typeof planDeclarations> = {
  async list({ country, at }, { store, target }) {
    const plans = await listPlans(store, country, at)
    const note = plans.length === 0 ? describeEmptyList(country, target) : undefined
    return { data: plans.map(summarize), text: plans.map(toRow), note }
  },

  async show({ id, at }, { store }) {
    const found = await findPlan(store, id, at)
    const pending = at === undefined ? await selectPendingChanges(store, id) : []
    const note = pending.map((change) => describePendingChange(change)).join('\n')
    return { data: found, text: formatPlan(found), note: note || undefined }
  },

  async offer({ id, country: countries, ...input }, run) {
    const result = await setViewable(run.store, id, { countries, isViewable: true }, createRequest(run, input))
    return printChange(result, input, run)
  },

  async withdraw({ id, country: countries, ...input }, run) {
    const result = await setViewable(run.store, id, { countries, isViewable: false }, createRequest(run, input))
    const { identifier, viewableIn } = result.before
    const others = countries.filter((code) => !viewableIn.includes(code))
    if (others.length > 0) run.warn(`${identifier} was not viewable in ${others.join(', ')}.`)
    return printChange(result, input, run)
  },

  async close({ id, ...input }, run) {
    return printChange(await closePlan(run.store, id, input.note, createRequest(run, input)), input, run)
  },

  async open({ id, ...input }, run) {
    return printChange(await openPlan(run.store, id, createRequest(run, input)), input, run)
  },

  async set({ id, assignments, ...input }, run) {
    const result = await setFields(run.store, id, assignments, createRequest(run, input))
    const { before, plan: after, publication } = result
    if (input.json) return toOutput(result)
    if (publication === undefined) run.report(`${after.identifier} has these values already.`)
    run.report(...formatCountries(compareChanges([{ before, after }])))
    printPublication(run, publication)
    return undefined
  },

  async why({ id, partner: shortName, at }, { store, target }) {
    const explanation = await explainPlan(store, { plan: id, shortName, atSeconds: at })
    const { reason, partner } = explanation
    const isAboutPlan = reason === 'no_such_plan' || 'plan' in explanation
    const later = at === undefined && isAboutPlan ? await selectPendingChanges(store, id) : []
    const sentence = describeExplanation(explanation, id, at)
    const fix = at === undefined ? describeFix(explanation, target) : null
    const pending = later.map((change) => describePendingChange(change, partner.country))
    const settledAt = await findSettlingTime(store, explanation, at)
    const lines = [
      [sentence, fix].filter(Boolean).join(' '),
      ...(settledAt === undefined ? [] : [describeSettling(settledAt, at)]),
      ...pending,
    ]
    return {
      data: {
        isSeen: reason === 'viewable',
        reason,
        sentence,
        fix,
        settledAt: formatOptionalTime(settledAt ?? null),
        pending,
      },
      text: `${lines.join('\n')}\n`,
    }
  },
}

function printChange(result: PlanResult, { json }: { json: boolean }, run: Run): Output | undefined {
  if (json) return toOutput(result)
  const { plan, publication } = result
  const where = plan.viewableIn.length === 0 ? 'nowhere' : `in ${plan.viewableIn.join(', ')}`
  const investable = plan.isInvestable ? 'open to investment' : 'closed to investment'
  const verb = publication === undefined ? 'is still' : publication.state === 'published' ? 'is' : 'will be'
  run.report(`${plan.identifier} ${verb} viewable ${where}, and ${investable}.`)
  printPublication(run, publication)
  return undefined
}

function toOutput({ plan, publication }: PlanResult): Output {
  return { data: { plan, publication: publicationToJson(publication) }, text: '' }
}

function describeEmptyList(country: string | undefined, target: Target): string {
  if (country === undefined) {
    return `The catalog has no plan. To import plans: ${describeCommand(target, 'catalog', 'import', 'FILE')}`
  }
  const all = describeCommand(target, 'plan', 'list')
  return `No plan is viewable in ${country}. To see all plans, and where they are viewable: ${all}`
}

function toRow(plan: CatalogPlan): Record<string, string> {
  return {
    IDENTIFIER: plan.identifier,
    'FUND TYPE': plan.fundType,
    CURRENCY: plan.currency,
    INVESTABLE: plan.isInvestable ? 'yes' : 'no',
    'VIEWABLE IN': plan.viewableIn.join(' '),
  }
}

function formatPlan(plan: CatalogPlan): string {
  return formatPairs(
    Object.entries(plan).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

function summarize({ id, identifier, name, fundType, currency, category, isInvestable, viewableIn }: CatalogPlan) {
  return { id, identifier, name, fundType, currency, categoryId: category?.id ?? null, isInvestable, viewableIn }
}
