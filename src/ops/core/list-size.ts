// How large the list of a country may become: the Worker's memory holds lists of up to 24 MB, and KV of up to 25 MiB. A
// larger one would be cached nowhere, and each request would read all of it from D1.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { UserError } from '../shared/user-error.ts'

const megabyte = 1_000_000
export const maxListBytes = 24 * megabyte
const warnedListBytes = 20 * megabyte

/**
 * Looks at the lists that a change makes longer.
 * @returns warnings of those that come near the limit.
 * @throws UserError with one line for each that is beyond it.
 */
export function checkListSizes(before: readonly CatalogPlan[], after: readonly CatalogPlan[]): string[] {
  const old = measureLists(before)
  const large = [...measureLists(after)].filter(([country, bytes]) => {
    return bytes > warnedListBytes && bytes > (old.get(country) ?? 0)
  })
  const lines = large.map(([country, bytes]) => {
    const size = (bytes / megabyte).toFixed(1)
    return `The list of ${country} would have ${size} MB. The service can cache at most ${maxListBytes / megabyte} MB.`
  })
  if (large.every(([, bytes]) => bytes <= maxListBytes)) return lines
  throw new UserError([...lines, 'Make texts shorter, or show fewer plans there. Nothing was changed.'])
}

/** Bytes of each country's list as JSON, without the envelope. */
function measureLists(plans: readonly CatalogPlan[]): Map<string, number> {
  const encoder = new TextEncoder()
  const bytes = new Map<string, number>()
  for (const { viewableIn, ...plan } of plans) {
    const planBytes = encoder.encode(JSON.stringify(plan)).byteLength + 1
    for (const country of viewableIn) bytes.set(country, (bytes.get(country) ?? 0) + planBytes)
  }
  return bytes
}
