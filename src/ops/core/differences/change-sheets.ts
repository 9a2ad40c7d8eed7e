// Writes a change of the catalog as a spreadsheet, for its review before it is published.
import type { PlanChange } from '../../../db/publication-queries.ts'
import { encodeCell, type Cell } from '../file-formats/plan-cells.ts'
import { formatXlsx, type WrittenSheet } from '../file-formats/xlsx-file.ts'
import { compareChange, type PlanDifference } from './catalog-difference.ts'
import { comparePlans, joinReplacedObjects, shortenToObject } from './plan-paths.ts'

/** A changed field of a plan. Its members are the columns of a sheet. */
export interface ChangedField {
  /** The identifier of the plan. */
  plan: string
  name: string
  /** The path of the value, such as `minTopUpAmounts.KES`. */
  field: string
  before: unknown
  after: unknown
}

/** Lists the changed fields of each plan. A category that was replaced by another is one field, with the names before and after. */
export function listChangedFields(changes: readonly PlanChange[]): ChangedField[] {
  return changes.flatMap(({ before, after }) => {
    const { identifier: plan = '', name = '' } = after ?? before ?? {}
    const fields = joinReplacedObjects(comparePlans(before, after))
    return fields.map(([field, { from, to }]) => ({ plan, name, field, before: from, after: to }))
  })
}

/** A sentence about a value that is probably wrong. */
interface Doubt {
  /** The identifier of the plan. */
  subject: string
  /** The path of the value, such as `category.id`; undefined for a doubt about the whole plan. */
  field?: string
  message: string
}

/** The number of plans on the list of each country, by country. */
type Lists = ReadonlyMap<string, { plans: number }>

export interface Review {
  changes: readonly PlanChange[]
  doubts: readonly Doubt[]
  lists: { before: Lists; after: Lists }
}

/**
 * Formats a change as an .xlsx file. The first sheet has a row for each changed field, the doubtful ones first and in red. The second sheet has
 * a row for each country: its number of plans before and after, and which plans appear and disappear.
 */
export function formatReview({ changes, doubts, lists }: Review): Promise<Uint8Array> {
  const fields = listChangedFields(changes)
  const fieldsByPlan = Map.groupBy(fields, ({ plan }) => plan)
  const messages = new Map<ChangedField, string[]>()
  for (const { subject, field: path, message } of doubts) {
    const planFields = fieldsByPlan.get(subject) ?? []
    const doubtedFields = planFields.filter(({ field }) => isDoubtAboutField(path, field))
    // A doubt about an unchanged field, such as the name of a plan that appears on a list, stands in all rows of the plan.
    for (const changedField of doubtedFields.length > 0 ? doubtedFields : planFields) {
      messages.set(changedField, [...(messages.get(changedField) ?? []), message])
    }
  }
  const rows = fields.map((changedField) => {
    const { plan, name, field, before, after } = changedField
    return [plan, name, field, encodeValue(before), encodeValue(after), (messages.get(changedField) ?? []).join(' ')]
  })
  const redRowCount = rows.filter(isDoubtful).length
  const orderedRows = rows.toSorted((a, b) => Number(isDoubtful(b)) - Number(isDoubtful(a)))
  const header = ['plan', 'name', 'field', 'before', 'after', 'doubt']
  const sheet: WrittenSheet = { name: 'Changes', rows: [header, ...orderedRows], isFitted: true, redRowCount }
  return formatXlsx(sheet, { name: 'Lists', rows: makeCountryRows(changes.map(compareChange), lists), isFitted: true })
}

/** Tells if a doubt is about a field. One of the two paths may be an object, such as `category`, and the other its member. A doubt without a path is about no field. */
function isDoubtAboutField(doubtPath: string | undefined, field: string): boolean {
  if (doubtPath === undefined) return false
  return field === doubtPath || field.startsWith(`${doubtPath}.`) || field === shortenToObject(doubtPath)
}

// The last cell of a row has the messages of its doubts.
const isDoubtful = (row: readonly Cell[]) => row.at(-1) !== ''

// A plan without the value has null or undefined.
const encodeValue = (value: unknown): Cell => encodeCell('text', value ?? 'none', { isCsv: false })

function makeCountryRows(differences: readonly PlanDifference[], { before, after }: Review['lists']): Cell[][] {
  const countries = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  const rows = countries.map((country) => {
    const countPlans = (lists: Lists) => lists.get(country)?.plans ?? 0
    const namePlans = (direction: 'appears' | 'disappears') =>
      differences
        .filter((plan) => plan[direction].includes(country))
        .map(({ identifier }) => identifier)
        .join(', ')
    return [country, countPlans(before), countPlans(after), namePlans('appears'), namePlans('disappears')]
  })
  return [['country', 'plans before', 'plans after', 'appear', 'disappear'], ...rows]
}
