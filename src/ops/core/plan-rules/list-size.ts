// How large the list of a country may become: the Worker's memory holds lists of up to 24 MB, and KV of up to 25 MiB. A
// larger one would be cached nowhere, and each request would read all of it from D1.
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import type { CatalogSize, ListSize } from '../../../db/catalog-queries.ts'
import { UserError } from '../../shared/user-error.ts'

const megabyte = 1_000_000
const maxListBytes = 24 * megabyte

export type ListSizes = ReadonlyMap<string, ListSize>

/** @throws UserError with one line for each list that a change makes too large; a list that was too large may become shorter. */
export function checkListSizes(before: ListSizes, after: ListSizes): void {
  const lines = [...after].flatMap(([country, { bytes }]) => {
    if (bytes <= maxListBytes || bytes <= (before.get(country)?.bytes ?? 0)) return []
    const size = (bytes / megabyte).toFixed(1)
    return `The list of ${country} would have ${size} MB. The service can cache at most ${maxListBytes / megabyte} MB.`
  })
  if (lines.length > 0) throw new UserError([...lines, 'Make texts shorter, or show fewer plans there.'])
}

/** Adds plans to the lists of a catalog. */
export function addToLists({ lists }: Pick<CatalogSize, 'lists'>, plans: Iterable<CatalogPlan>): ListSizes {
  const encoder = new TextEncoder()
  const sizes = new Map(lists)
  for (const { viewableIn, ...plan } of plans) {
    const planBytes = encoder.encode(JSON.stringify(plan)).byteLength + 1
    for (const country of viewableIn) {
      const { plans: count, bytes } = sizes.get(country) ?? { plans: 0, bytes: 0 }
      sizes.set(country, { plans: count + 1, bytes: bytes + planBytes })
    }
  }
  return sizes
}
