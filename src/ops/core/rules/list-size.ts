// How large the list of a country may become: the Worker's memory holds lists of up to 24 MB, and KV of up to 25 MiB. A
// larger one would be cached nowhere, and each request would read all of it from D1.
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'
import { UserError } from '../../shared/user-error.ts'

const megabyte = 1_000_000
const maxListBytes = 24 * megabyte

/** @throws UserError with one line for each list that a change makes too large; a list that was too large may become shorter. */
export function checkListSizes(before: Iterable<CatalogPlan>, after: Iterable<CatalogPlan>): void {
  const old = measureLists(before)
  const lines = [...measureLists(after)].flatMap(([country, bytes]) => {
    if (bytes <= maxListBytes || bytes <= (old.get(country) ?? 0)) return []
    const size = (bytes / megabyte).toFixed(1)
    return `The list of ${country} would have ${size} MB. The service can cache at most ${maxListBytes / megabyte} MB.`
  })
  if (lines.length > 0)
    throw new UserError([...lines, 'Make texts shorter, or show fewer plans there. Nothing was changed.'])
}

/** Bytes of each country's list as JSON, without the envelope. */
function measureLists(plans: Iterable<CatalogPlan>): Map<string, number> {
  const encoder = new TextEncoder()
  const bytes = new Map<string, number>()
  for (const { viewableIn, ...plan } of plans) {
    const planBytes = encoder.encode(JSON.stringify(plan)).byteLength + 1
    for (const country of viewableIn) bytes.set(country, (bytes.get(country) ?? 0) + planBytes)
  }
  return bytes
}
