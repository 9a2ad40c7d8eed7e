// Compares two versions of the catalog, plan by plan. Pure.
import { comparePlans, type ValueChange } from './plan-paths.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'

export interface PlanDifference {
  identifier: string
  kind: 'added' | 'changed' | 'removed'
  /** The countries on whose lists the plan is only afterwards, was only before, and stays with other fields. */
  appears: string[]
  disappears: string[]
  stays: string[]
  /** By path, such as `minTopUpAmounts.KES`; without `viewableIn`, which partners do not see. */
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
