// The keys of KV and of the isolate's memory.
import { planFields } from '../../db/plan-queries.ts'

/** Two versions of the Worker that list different fields must not serve each other's lists. */
const listFormat = `v2-${hash(describeFields(planFields))}`

/** @param filters the canonical filter set, empty for the whole list */
export function getPlanListKey(country: string, filters: string): string {
  return `plans:${listFormat}:${country}:${filters}`
}

export function getPartnerKey(clientId: string): string {
  return `partner:v2:${clientId}`
}

/** Names fields, and the fields inside them, as in `id,category(id,name)`. Columns and SQL are objects of classes. */
function describeFields(fields: object): string {
  return Object.entries(fields)
    .map(([name, field]: [string, object]) =>
      Object.getPrototypeOf(field) === Object.prototype ? `${name}(${describeFields(field)})` : name,
    )
    .join()
}

/** 32 bits, as text. */
function hash(text: string): string {
  let bits = 0
  for (const character of text) bits = (Math.imul(bits, 31) + character.charCodeAt(0)) | 0
  return (bits >>> 0).toString(36)
}
