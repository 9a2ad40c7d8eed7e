// Limits the size of a country's list. The Worker's memory holds lists of up to 24 MB, and KV of up to 25 MiB. A larger list would be
// cached nowhere, and each request would read the whole list from D1.
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { CatalogSize } from '../../../db/catalog-queries.ts'
import type { PlanChange } from '../../../db/publication-queries.ts'
import { UserError } from '../../shared/user-error.ts'

const megabyte = 1_000_000
const maxListBytes = 24 * megabyte

type ListSizes = CatalogSize['lists']

export interface ListSizeChange {
  before: ListSizes
  after: ListSizes
}

/** Measures lists before and after a change. @throws UserError for a list that grows, and is above the limit afterwards. @param others the lists without the changed plans. */
export function measureLists(others: ListSizes, changes: readonly PlanChange[]): ListSizeChange {
  const plansBefore = changes.flatMap((change) => change.before ?? [])
  const plansAfter = changes.flatMap((change) => change.after ?? [])
  const [before, after] = [addToLists(others, plansBefore), addToLists(others, plansAfter)]
  const lines = [...after].flatMap(([country, { bytes }]) => {
    if (bytes <= maxListBytes || bytes <= (before.get(country)?.bytes ?? 0)) return []
    const size = (bytes / megabyte).toFixed(1)
    return `The list of ${country} would have ${size} MB. The service can cache at most ${maxListBytes / megabyte} MB.`
  })
  if (lines.length > 0) throw new UserError([...lines, 'Make texts shorter, or take plans off these lists.'])
  return { before, after }
}

function addToLists(lists: ListSizes, plans: readonly CatalogPlan[]): ListSizes {
  const encoder = new TextEncoder()
  const sizes = new Map(lists)
  for (const { viewableIn, ...plan } of plans) {
    // 1 byte for the comma after the plan.
    const planBytes = encoder.encode(JSON.stringify(plan)).byteLength + 1
    for (const country of viewableIn) {
      const { plans: count, bytes } = sizes.get(country) ?? { plans: 0, bytes: 0 }
      sizes.set(country, { plans: count + 1, bytes: bytes + planBytes })
    }
  }
  return sizes
}
