// The command `ops why`: says what a partner can do, and why it sees a plan or not.
import { compareChange } from '../../core/differences/catalog-difference.ts'
import { requirePartner } from '../../core/partners/partner-accounts.ts'
import { explainPartner } from '../../core/partners/partner-explanation.ts'
import { explainPlan, selectPendingChanges, type PendingChange } from '../../core/plans/plan-explanation.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { describeDue, formatLocalTime } from '../../shared/time-arguments.ts'
import { describeChange } from '../catalog/publication-output.ts'
import { partnerToJson } from '../partners/partner-output.ts'
import { timeFlag } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'

export const why = verb({
  help: `say what a partner can do, and why it gets 401; with a plan, why the plan is on the list of the partner or not. Partners see a change within ${freshness}`,
  example: 'why acme mwamba-money-market-fund',
  args: { partner: {}, plan: { isOptional: true } },
  flags: { at: timeFlag },
  json: 'the partner as an object, with sentences; with a plan, an object with reason, sentence and, without --at, fix and pending',
  async run({ partner: name, plan, at }, { store }) {
    const asOf = at === undefined ? '' : `As of ${formatLocalTime(at)}, `
    if (plan === undefined) {
      const partner = await requirePartner(store, name, at)
      const sentences = await explainPartner(store, partner, at)
      return { data: { ...partnerToJson(partner), sentences }, text: `${asOf}${sentences.join('\n')}\n` }
    }
    const { fix, ...answer } = await explainPlan(store, { plan, partner: name, at })
    if (at !== undefined) return { data: answer, text: `${asOf}${answer.sentence}\n` }
    const pending = (await selectPendingChanges(store, plan)).map(describePending)
    return { data: { ...answer, fix, pending }, text: [`${answer.sentence} ${fix}`, ...pending, ''].join('\n') }
  },
})

/** `At 2026-12-01 09:00 in Africa/Nairobi (…): appears in KE (publication 12).` */
export function describePending({ publication, change }: PendingChange): string {
  const { id, willConflict } = publication
  const when = describeDue(publication)
  const problem = willConflict === null ? '' : `, which conflicts now: ${willConflict}`
  return `${when.charAt(0).toUpperCase()}${when.slice(1)}: ${describeChange(compareChange(change))} (publication ${id}${problem}).`
}
