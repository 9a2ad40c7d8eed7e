// Describes the change of a plan as partners see it. Pure.
import { comparePlans, type ValueChange } from './plan-paths.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'

export interface PlanDifference {
  identifier: string
  kind: 'added' | 'changed' | 'removed'
  /** The countries whose lists get the plan. */
  appears: string[]
  /** The countries whose lists lose the plan. */
  disappears: string[]
  /** The countries whose lists keep the plan, with changed fields. */
  stays: string[]
  /** The changed values by path, such as `minTopUpAmounts.KES`. Without `viewableIn`, which partners do not see. */
  fields: Record<string, ValueChange>
}

export function compareChange({ before, after }: Omit<PlanChange, 'planId'>): PlanDifference {
  const [from, to] = [before?.viewableIn ?? [], after?.viewableIn ?? []]
  const fields = [...comparePlans(before, after)].filter(([path]) => !path.startsWith('viewableIn.'))
  return {
    identifier: (after ?? before)?.identifier ?? '',
    kind: before === null ? 'added' : after === null ? 'removed' : 'changed',
    appears: to.filter((country) => !from.includes(country)),
    disappears: from.filter((country) => !to.includes(country)),
    stays: fields.length === 0 ? [] : to.filter((country) => from.includes(country)),
    fields: Object.fromEntries(fields),
  }
}
