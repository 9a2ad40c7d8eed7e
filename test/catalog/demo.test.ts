// The demo catalog: its ordinary plans, and its special lists for tests of partners' programs.
import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { demoCases } from '../../src/catalog/demo-cases.ts'
import { examplePlan } from '../../src/catalog/example-plan.ts'
import { catalogPlanSchema, planSchema, type CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { isJsonObject } from '../../src/json.ts'
import { readDemoPlans, readOrdinaryPlans } from '../support/demo-plans.ts'

const plans = await readDemoPlans()

test('the demo catalog has 34 ordinary plans, and every special case among them', async () => {
  const ordinary = await readOrdinaryPlans()
  const only = (condition: (plan: CatalogPlan) => boolean) => ordinary.filter(condition).map(({ id }) => id)

  expect(ordinary.length).toBe(34)
  expect(only(({ viewableIn }) => viewableIn.length > 1)).toEqual([109, 110])
  expect(only(({ viewableIn }) => viewableIn.length === 0)).toHaveLength(1)
  expect(only(({ isInvestable }) => !isInvestable)).toHaveLength(1)
  expect(only(({ minInvestableAmounts }) => Object.keys(minInvestableAmounts).length === 2)).toHaveLength(1)
  expect(only((plan) => plan.performance1 === null && plan.performance10 === null)).toHaveLength(1)
  expect(only(({ category }) => category === null)).toHaveLength(1)
  expect(only(({ fundManager }) => fundManager === null)).toHaveLength(1)
  expect(only(({ name }) => name.includes("'"))).toEqual([108, 304])
})

test('the plan of the examples has the same names in the demo catalog', () => {
  const { identifier, name, coolName } = examplePlan
  expect(plans).toContainEqual(expect.objectContaining({ identifier, name, coolName }))
})

const expectCase: Record<keyof typeof demoCases, (listed: CatalogPlan[]) => void> = {
  KE: (listed) => {
    expect(listed.map(({ id }) => id)).toEqual([101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111])
  },
  MW: (listed) => {
    expect(listed).toEqual([])
  },
  BW: (listed) => {
    expect(listed.length).toBeGreaterThan(0)
    for (const { isInvestable, nonInvestableNote } of listed) {
      expect(isInvestable).toBe(false)
      expect(nonInvestableNote).toEqual(expect.any(String))
    }
  },
  NA: ([plan]) => {
    const fields = Object.entries(planSchema.shape)
    const nullable = fields.filter(([, rule]) => rule.safeParse(null).success).map(([name]) => name)
    expect(nullable).toEqual(expect.arrayContaining(['performance10', 'nonInvestableNote', 'category']))
    expect(plan).toMatchObject(Object.fromEntries(nullable.map((name) => [name, null])))
  },
  EG: (listed) => {
    const [smallest, largest] = [listed.at(0), listed.at(-1)]
    // Only the ID and the returns are not the smallest possible: the ID 0 would come first in lists, and `doctor` warns of returns below -50.
    const returns = ['performance1', 'performance3', 'performance5', 'performance10']
    expect(listAccepted(smallest, shrink)).toEqual(['id', ...returns])
    expect(listAccepted(largest, grow)).toEqual([])
    expect(smallest?.minTopUpAmounts).toEqual({})
    expect(listed.map(({ name }) => /\p{Script=Arabic}/u.test(name))).toEqual([false, true, true])
  },
}

test.each(Object.entries(expectCase))('the list of %s is its case', (country, expectList) => {
  const listed = plans.filter(({ viewableIn }) => viewableIn.includes(country))
  expectList(listed.toSorted((a, b) => a.id - b.id))
})

const isOptional = (rule: z.ZodType | undefined) => rule?.safeParse(undefined).success === true

/** Changes one value of a plan at a time, except fields with a default. @returns the paths of the changes that the schema accepts. */
function listAccepted(plan: unknown, change: (value: string | number) => unknown): string[] {
  expect(catalogPlanSchema.safeParse(plan).success).toBe(true)
  const fields: Record<string, z.ZodType> = planSchema.shape
  const variants = listVariants(plan, change).filter(([[name = '']]) => !isOptional(fields[name]))
  expect(variants.length).toBeGreaterThan(30)
  return variants.filter(([, variant]) => catalogPlanSchema.safeParse(variant).success).map(([path]) => path.join('.'))
}

function listVariants(value: unknown, change: (value: string | number) => unknown): [path: string[], unknown][] {
  if (typeof value === 'string' || typeof value === 'number') return [[[], change(value)]]
  if (!isJsonObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    listVariants(member, change).map(([path, variant]): [string[], unknown] => [
      [name, ...path],
      { ...value, [name]: variant },
    ]),
  )
}

/** Removes a character of a text, or returns a smaller number. */
function shrink(value: string | number): string | number {
  if (typeof value === 'string') return value.slice(0, -1)
  if (value === 0) return -1
  return Number.isInteger(value) ? value - 1 : value / 10
}

/** Adds a character to a text, or returns a larger or longer number. */
function grow(value: string | number): string | number {
  if (typeof value === 'string') return `${value}x`
  return Number.isInteger(value) ? value + 1 : Number(`${value}1`)
}
