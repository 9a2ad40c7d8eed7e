// Derives the columns of a spreadsheet of plans from the schema of a plan.
import { z } from 'zod'
import { isJsonObject, readPath } from '../../../json.ts'
import { catalogPlanSchema, unwrap, type CatalogPlan } from '../../../catalog/plan-schema.ts'

export type ColumnKind = 'text' | 'number' | 'amount' | 'boolean' | 'date' | 'list'

export interface PlanColumn {
  /** Such as `name`, `category.id` or `minTopUpAmounts.KES`. */
  name: string
  /** The part before the dot. */
  field: string
  /** The part after the dot: the member of an object, or the currency of an amount. */
  member: string | undefined
  kind: ColumnKind
}

/** A field of a plan: one value, an object with fixed members, or amounts with a member for each currency. */
interface PlanField {
  name: string
  shape: { kind: ColumnKind } | { members: ReadonlyMap<string, ColumnKind> } | { amounts: z.ZodRecord }
}

export const planFields: readonly PlanField[] = Object.entries(catalogPlanSchema.shape).map(([name, schema]) => ({
  name,
  shape: readShape(unwrap(schema)),
}))

function readShape(schema: z.core.$ZodType): PlanField['shape'] {
  if (schema instanceof z.ZodRecord) return { amounts: schema }
  if (!(schema instanceof z.ZodObject)) return { kind: readKind(schema) }
  const members = Object.entries<z.core.$ZodType>(schema.shape)
  return { members: new Map(members.map(([member, inner]) => [member, readKind(unwrap(inner))])) }
}

function readKind(schema: z.core.$ZodType): ColumnKind {
  if (schema instanceof z.ZodISODate) return 'date'
  if (schema instanceof z.ZodString) return 'text'
  if (schema instanceof z.ZodNumber) return 'number'
  if (schema instanceof z.ZodBoolean) return 'boolean'
  if (schema instanceof z.ZodArray) return 'list'
  throw new Error('a plan has a field that no column can hold')
}

/** Lists the columns that plans need, in the order of the schema: amounts have a column for each currency in use. */
export function listColumns(plans: readonly CatalogPlan[]): PlanColumn[] {
  return planFields.flatMap(({ name: field, shape }) => {
    if ('kind' in shape) return makeColumn(field, undefined, shape.kind)
    if ('members' in shape) return [...shape.members].map(([member, kind]) => makeColumn(field, member, kind))
    const amountsOfPlans = plans.map((plan) => readPath(plan, field)).filter(isJsonObject)
    const currencies = new Set(amountsOfPlans.flatMap((amounts) => Object.keys(amounts)))
    return [...currencies].toSorted().map((currency) => makeColumn(field, currency, 'amount'))
  })
}

/** @returns the column with a name; undefined if there is none, as for `category` without a member. For amounts with a wrong currency, returns what is expected after the dot. */
export function findColumn(name: string): PlanColumn | { expected: string } | undefined {
  const [, field = '', member] = /^([^.]*)(?:\.(.*))?$/s.exec(name) ?? []
  const shape = planFields.find((candidate) => candidate.name === field)?.shape
  if (shape === undefined) return undefined
  if ('kind' in shape) return member === undefined ? makeColumn(field, undefined, shape.kind) : undefined
  if (member === undefined) return undefined
  if ('members' in shape) {
    const kind = shape.members.get(member)
    return kind && makeColumn(field, member, kind)
  }
  const [issue] = z.safeParse(shape.amounts.keyType, member).error?.issues ?? []
  return issue ? { expected: issue.message } : makeColumn(field, member, 'amount')
}

function makeColumn(field: string, member: string | undefined, kind: ColumnKind): PlanColumn {
  return { name: member === undefined ? field : `${field}.${member}`, field, member, kind }
}

/** Without plans, no currency is in use, and amounts have no columns. */
export const columnsWithoutAmounts = listColumns([])
