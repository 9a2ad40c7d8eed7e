// A change of the catalog as a spreadsheet that people read: its review before it is published, or its part of an audit.
import type { PlanChange } from '../../../db/publication-queries.ts'
import { encodeCell, type Cell } from '../file-formats/plan-cells.ts'
import { formatXlsx, type WrittenSheet } from '../file-formats/xlsx-file.ts'
import { compareChange, type PlanDifference } from './catalog-difference.ts'
import { comparePlans, listChanges, partOf } from './plan-paths.ts'

/** A changed field of a plan: one row of a sheet, with these columns. */
export interface ChangedField {
  plan: string
  name: string
  field: string
  before: unknown
  after: unknown
}

/** Lists the changed fields of each plan. An object that became another one is one field, from its name to the other's name. */
export function listChangedFields(changes: readonly PlanChange[]): ChangedField[] {
  return changes.flatMap(({ before, after }) => {
    const { identifier: plan = '', name = '' } = after ?? before ?? {}
    const fields = listChanges(comparePlans(before, after))
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

/** How many plans the list of each country has, by country. */
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
  for (const { subject, field, message } of doubts) {
    const all = fieldsByPlan.get(subject) ?? []
    const about = all.filter((changed) => isAbout(field, changed.field))
    // A doubt about a field that does not change, such as a name on another list, marks all changed fields of the plan.
    for (const changed of about.length > 0 ? about : all) {
      messages.set(changed, [...(messages.get(changed) ?? []), message])
    }
  }
  const rows = fields.map((changed) => {
    const { plan, name, field, before, after } = changed
    return [plan, name, field, encodeValue(before), encodeValue(after), (messages.get(changed) ?? []).join(' ')]
  })
  const redRows = rows.filter(isDoubtful).length
  const ordered = rows.toSorted((a, b) => Number(isDoubtful(b)) - Number(isDoubtful(a)))
  const header = ['plan', 'name', 'field', 'before', 'after', 'doubt']
  const sheet: WrittenSheet = { name: 'Changes', rows: [header, ...ordered], isFitted: true, redRows }
  return formatXlsx(sheet, { name: 'Lists', rows: listCountries(changes.map(compareChange), lists), isFitted: true })
}

/** Returns whether the path of a doubt and a changed field are the same value, or one is an object and the other its member. */
function isAbout(path: string | undefined, field: string): boolean {
  return path !== undefined && (`${field}.`.startsWith(`${path}.`) || partOf(path) === field)
}

/** The last cell of a row has the messages of its doubts. */
const isDoubtful = (row: readonly Cell[]) => row.at(-1) !== ''

const encodeValue = (value: unknown): Cell => encodeCell('text', value ?? 'none', { isUntyped: false })

function listCountries(differences: readonly PlanDifference[], { before, after }: Review['lists']): Cell[][] {
  const countries = [...new Set([...before.keys(), ...after.keys()])].toSorted()
  const rows = countries.map((country) => {
    const name = (side: 'appears' | 'disappears') =>
      differences.flatMap((plan) => (plan[side].includes(country) ? plan.identifier : [])).join(', ')
    const [old, next] = [before, after].map((lists) => lists.get(country)?.plans ?? 0)
    return [country, old ?? 0, next ?? 0, name('appears'), name('disappears')]
  })
  return [['country', 'plans before', 'plans after', 'appear', 'disappear'], ...rows]
}
