// Reads and writes catalog files, `{ "plans": [ … ] }`. Node only.
import type { z } from 'zod'
import { isJsonObject } from '../json.ts'
import { abbreviate, catalogPlanSchema, type CatalogPlan } from './plan-schema.ts'

export type CatalogResult = { kind: 'catalog'; plans: CatalogPlan[] } | { kind: 'invalid'; defects: string[] }

export function formatCatalog(plans: readonly CatalogPlan[]): string {
  return `${JSON.stringify({ plans }, null, 2)}\n`
}

/**
 * Finds all defects of a file at once. Each defect is one line that names the plan, the field, the expected and the found
 * value. `onChecked` gets the number of plans checked so far.
 */
export function parseCatalog(json: string, onChecked: (done: number, total: number) => void = () => {}): CatalogResult {
  let file: unknown
  try {
    file = JSON.parse(json, refusePrototype)
  } catch (error) {
    // JSON.parse throws a RangeError when the call stack overflows.
    const isDeep = error instanceof RangeError
    const reason = isDeep ? 'it is nested too deeply' : error instanceof Error ? error.message : 'unreadable'
    return { kind: 'invalid', defects: [`The file is not JSON: ${reason}`] }
  }
  if (!isJsonObject(file) || !Array.isArray(file['plans']) || Object.keys(file).length > 1) {
    return {
      kind: 'invalid',
      defects: ['The file must be a JSON object with one member, "plans", which is an array.'],
    }
  }
  const plans: CatalogPlan[] = []
  const defects = new Set<string>()
  const candidates: unknown[] = file['plans']
  for (const [index, candidate] of candidates.entries()) {
    onChecked(index, candidates.length)
    const { data, error } = catalogPlanSchema.safeParse(candidate)
    if (data) plans.push(data)
    for (const issue of error?.issues ?? []) defects.add(describeIssue(candidate, index, issue))
  }
  for (const conflict of findConflicts(plans)) defects.add(conflict)
  return defects.size > 0 ? { kind: 'invalid', defects: [...defects] } : { kind: 'catalog', plans }
}

/** Refuses the one member name that an assignment to an object would silently drop. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new Error('it has a member named "__proto__"')
  // SQLite has no -0: store 0.
  return value === 0 ? 0 : value
}

function describeIssue(plan: unknown, index: number, issue: z.core.$ZodIssue): string {
  // For an invalid key, zod's path ends with the key.
  const isKey = issue.code === 'invalid_key'
  const path = isKey ? issue.path.slice(0, -1) : issue.path
  const names = path.map((name) => (/^\w{1,40}$/.test(String(name)) ? String(name) : abbreviate(name)))
  const place = names.length === 0 ? namePlan(plan, index) : `${namePlan(plan, index)}: ${names.join('.')}`
  if (issue.code === 'unrecognized_keys') return `${place}: unknown field ${issue.keys.map(abbreviate).join(', ')}.`
  const found = isKey ? issue.path.at(-1) : path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), plan)
  return `${place}: expected ${issue.message}; found ${abbreviate(found)}.`
}

/** Names a plan by its identifier, or by its position in the file, counted from 1, when it has none. */
function namePlan(plan: unknown, index: number): string {
  const identifier = isJsonObject(plan) ? plan['identifier'] : undefined
  return typeof identifier === 'string' ? `Plan ${abbreviate(identifier)}` : `Plan number ${index + 1}`
}

/**
 * Finds plans that can't be stored together: two plans with the same ID or identifier, or with different values for the
 * same category, plan type, risk level or fund manager. Each line names the later plan first.
 */
export function findConflicts(plans: Iterable<CatalogPlan>): string[] {
  const conflicts: string[] = []
  const seen = new Map<string, { json: string; by: string }>()
  const claim = (key: string, value: unknown, by: string, describe: (other: string) => string) => {
    const json = JSON.stringify(value)
    const earlier = seen.get(key)
    if (earlier === undefined) seen.set(key, { json, by })
    else if (earlier.json !== json) conflicts.push(`Plan "${by}": ${describe(earlier.by)}`)
  }
  let index = 0
  for (const plan of plans) {
    const { id, identifier } = plan
    index++
    claim(`id ${id}`, index, identifier, (other) => `id: ${id} is also the id of plan "${other}".`)
    claim(`identifier ${identifier}`, index, identifier, () => 'identifier: another plan has the same identifier.')
    for (const field of ['category', 'planType', 'productRiskLevel', 'fundManager'] as const) {
      const value = plan[field]
      if (value === null) continue
      const describe = (other: string) => `${field}: id ${value.id} has other values in plan "${other}".`
      claim(`${field} ${value.id}`, value, identifier, describe)
    }
  }
  return conflicts
}
