// A catalog file, `{ "plans": [ … ] }`: reading one with every defect named, and writing one. Node only.
import { z } from 'zod'
import { isJsonObject } from '../json.ts'
import { catalogPlanSchema, type CatalogPlan } from './plan.ts'

export type CatalogResult = { kind: 'catalog'; plans: CatalogPlan[] } | { kind: 'invalid'; defects: string[] }

export function formatCatalog(plans: readonly CatalogPlan[]): string {
  return `${JSON.stringify({ plans }, null, 2)}\n`
}

/** Each defect is a line: which plan, which field, what is there, and what would be right. */
export function parseCatalog(json: string): CatalogResult {
  let file: unknown
  try {
    file = JSON.parse(json)
  } catch (error) {
    return {
      kind: 'invalid',
      defects: [`The file is not JSON: ${error instanceof Error ? error.message : 'unreadable'}`],
    }
  }
  if (!isJsonObject(file) || !Array.isArray(file['plans']) || Object.keys(file).length > 1) {
    return { kind: 'invalid', defects: ['The file has to be an object with one member, "plans", which is an array.'] }
  }
  const candidates: unknown[] = file['plans']
  const results = candidates.map((candidate) => catalogPlanSchema.safeParse(candidate))
  const defects = results.flatMap(({ error }, index) =>
    (error?.issues ?? []).map((issue) => describeIssue(candidates[index], index, issue)),
  )
  const plans = results.flatMap(({ data }) => data ?? [])
  defects.push(...findConflicts(plans))
  return defects.length > 0 ? { kind: 'invalid', defects } : { kind: 'catalog', plans }
}

function describeIssue(plan: unknown, index: number, { path, message }: z.core.$ZodIssue): string {
  const found = path.reduce<unknown>((value, key) => Reflect.get(Object(value), key), plan)
  const field = path.length === 0 ? '' : ` ${path.join('.')}:`
  return `${namePlan(plan, index)}:${field} expected ${message}; found ${abbreviate(found)}.`
}

/** By its identifier, or else by its place in the file, counted from 1. */
function namePlan(plan: unknown, index: number): string {
  const identifier = isJsonObject(plan) ? plan['identifier'] : undefined
  return typeof identifier === 'string' ? `Plan ${abbreviate(identifier)}` : `Plan number ${index + 1}`
}

function abbreviate(value: unknown): string {
  if (value === undefined) return 'nothing'
  const json = JSON.stringify(value)
  return json.length > 80 ? `${json.slice(0, 79)}…` : json
}

/** What no plan shows by itself: two plans that claim the same, or disagree on what they share. */
function findConflicts(plans: readonly CatalogPlan[]): string[] {
  const conflicts: string[] = []
  const seen = new Map<string, { json: string; by: string }>()
  const claim = (key: string, value: unknown, by: string, describe: (other: string) => string) => {
    const json = JSON.stringify(value)
    const earlier = seen.get(key)
    if (earlier === undefined) seen.set(key, { json, by })
    else if (earlier.json !== json) conflicts.push(`Plan ${JSON.stringify(by)}: ${describe(earlier.by)}`)
  }
  for (const [index, plan] of plans.entries()) {
    const { identifier } = plan
    claim(`id ${plan.id}`, index, identifier, (other) => `id: ${plan.id} is the id of plan "${other}" too.`)
    claim(`identifier ${identifier}`, index, identifier, () => 'identifier: it is in the file twice.')
    for (const field of ['category', 'planType', 'productRiskLevel', 'fundManager'] as const) {
      const value = plan[field]
      if (value === null) continue
      claim(
        `${field} ${value.id}`,
        value,
        identifier,
        (other) => `${field}: id ${value.id} stands for something else in plan "${other}".`,
      )
    }
  }
  return conflicts
}
