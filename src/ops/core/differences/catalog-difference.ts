// Describes the change of a plan as partners see it.
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
  /** The changed values by path, such as `minTopUpAmounts.KES`. Leaves out `viewableIn`, which partners do not see. */
  fields: Record<string, ValueChange>
}

export function compareChange({ before, after }: Omit<PlanChange, 'planId'>): PlanDifference {
  const countriesBefore = before?.viewableIn ?? []
  const countriesAfter = after?.viewableIn ?? []
  const fields = [...comparePlans(before, after)].filter(([path]) => !path.startsWith('viewableIn.'))
  const kindUnlessAdded = after === null ? 'removed' : 'changed'
  return {
    identifier: (after ?? before)?.identifier ?? '',
    kind: before === null ? 'added' : kindUnlessAdded,
    appears: countriesAfter.filter((country) => !countriesBefore.includes(country)),
    disappears: countriesBefore.filter((country) => !countriesAfter.includes(country)),
    stays: fields.length === 0 ? [] : countriesAfter.filter((country) => countriesBefore.includes(country)),
    fields: Object.fromEntries(fields),
  }
}
