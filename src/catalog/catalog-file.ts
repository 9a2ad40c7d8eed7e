// A catalog file, `{ "plans": [ … ] }`: reading one with every defect named, and writing one. Node only.
import type { z } from 'zod'
import { isJsonObject } from '../json.ts'
import { abbreviate, catalogPlanSchema, type CatalogPlan } from './plan-schema.ts'

export type CatalogResult = { kind: 'catalog'; plans: CatalogPlan[] } | { kind: 'invalid'; defects: string[] }

export function formatCatalog(plans: readonly CatalogPlan[]): string {
  return `${JSON.stringify({ plans }, null, 2)}\n`
}

/** Each defect is a line: which plan, which field, what is there, and what would be right. */
export function parseCatalog(json: string, onChecked: (done: number, total: number) => void = () => {}): CatalogResult {
  let file: unknown
  try {
    file = JSON.parse(json, refusePrototype)
  } catch (error) {
    // Of a stack that is full.
    const isDeep = error instanceof RangeError
    const reason = isDeep ? 'it is nested too deeply' : error instanceof Error ? error.message : 'unreadable'
    return { kind: 'invalid', defects: [`The file is not JSON: ${reason}`] }
  }
  if (!isJsonObject(file) || !Array.isArray(file['plans']) || Object.keys(file).length > 1) {
    return { kind: 'invalid', defects: ['The file has to be an object with one member, "plans", which is an array.'] }
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

/** Without the one member that objects would lose without a word. */
function refusePrototype(name: string, value: unknown): unknown {
  if (name === '__proto__') throw new Error('it has a member named "__proto__"')
  // SQLite has no -0.
  return value === 0 ? 0 : value
}

function describeIssue(plan: unknown, index: number, { path, message }: z.core.$ZodIssue): string {
  const found = path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), plan)
  const names = path.map((name) => (/^\w{1,40}$/.test(String(name)) ? String(name) : abbreviate(name)))
  const field = names.length === 0 ? '' : ` ${names.join('.')}:`
  return `${namePlan(plan, index)}:${field} expected ${message}; found ${abbreviate(found)}.`
}

/** By its identifier, or else by its place in the file, counted from 1. */
function namePlan(plan: unknown, index: number): string {
  const identifier = isJsonObject(plan) ? plan['identifier'] : undefined
  return typeof identifier === 'string' ? `Plan ${abbreviate(identifier)}` : `Plan number ${index + 1}`
}

/**
 * What no plan shows by itself: two plans that claim the same, or disagree on what they share. A catalog that has such
 * plans can't be stored; the later plan is named first.
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
    claim(`id ${id}`, index, identifier, (other) => `id: ${id} is the id of plan "${other}" too.`)
    claim(`identifier ${identifier}`, index, identifier, () => 'identifier: another plan has it, too.')
    for (const field of ['category', 'planType', 'productRiskLevel', 'fundManager'] as const) {
      const value = plan[field]
      if (value === null) continue
      const describe = (other: string) => `${field}: id ${value.id} stands for something else in plan "${other}".`
      claim(`${field} ${value.id}`, value, identifier, describe)
    }
  }
  return conflicts
}
