// Changes of the catalog that look like a mistake. The operator confirms them.
import { nameSome } from '../../abbreviate.ts'
import { comparePlans } from '../../catalog/plan-paths.ts'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import { selectCatalog } from '../../db/catalog-queries.ts'
import { selectNowSeconds, selectPartners, type Partner } from '../../db/partner-queries.ts'
import type { PlanChange } from '../../db/publication-queries.ts'
import type { Store } from '../store/store.ts'
import { compareChange, type PlanDifference } from './catalog-difference.ts'
import { applyChanges } from './catalog-merge.ts'
import { formatIsoTime } from './iso-time.ts'
import { checkListSizes } from './list-size.ts'
import { findPendingConflicts } from './pending-conflicts.ts'
import { findJumps, findMovedColumns, findOddities, foldFindings, type Finding } from './plan-rules.ts'

/** More than this share of a catalog, or of a country's list, is hardly ever removed on purpose. */
const maxRemovedShare = 1 / 5

/** What an operator should know about a change before partners see it. */
export interface Doubts {
  /** The operator confirms these. */
  warnings: string[]
  /** Other new findings of `catalog check`. */
  notes: string[]
}

/**
 * @param dueAt Unix seconds: when the change is published; null for now. @param ownId of a change that is pending.
 * @throws UserError when a list would be too large for the service.
 */
export async function findDoubts(
  store: Store,
  changes: readonly PlanChange[],
  dueAt: number | null,
  ownId?: number,
): Promise<Doubts> {
  if (changes.length === 0) return { warnings: [], notes: [] }
  const [{ plans: catalog }, partners, today] = await Promise.all([
    selectCatalog(store.db),
    selectPartners(store.db),
    dueAt === null ? selectToday(store) : formatIsoTime(dueAt).slice(0, 10),
  ])
  const conflicts = await findPendingConflicts(store, catalog, changes, ownId)
  const { warnings, notes } = describeDoubts({ catalog, partners, today, changes })
  return { warnings: [...conflicts, ...warnings], notes }
}

/** The date of the database's clock, in UTC, as YYYY-MM-DD. */
export async function selectToday({ db }: Store): Promise<string> {
  return formatIsoTime(await selectNowSeconds(db)).slice(0, 10)
}

type Plans = readonly CatalogPlan[]

export interface DoubtInput {
  /** The catalog before the change. */
  catalog: Plans
  partners: readonly Pick<Partner, 'shortName' | 'country' | 'suspendedAt'>[]
  /** The day of the publication, as YYYY-MM-DD. */
  today: string
  changes: readonly PlanChange[]
}

export function describeDoubts({ catalog, partners, today, changes }: DoubtInput): Doubts {
  const next = [...applyChanges(catalog, changes).values()]
  const known = new Set(catalog.map(({ identifier }) => identifier))
  const differences = changes.map(compareChange)
  const compared = changes.flatMap(({ before, after }) =>
    before && after ? { identifier: after.identifier, paths: comparePlans(before, after) } : [],
  )
  const found = findNewOddities(catalog, next, today, changes)
  // A plan may be added before it is shown, but hardly ever leaves its last list.
  const isDoubt = ({ level, rule, subject }: Finding) => level === 'error' || (rule === 'hidden' && known.has(subject))
  const jumps = compared.flatMap(({ identifier, paths }) => findJumps(identifier, paths))
  return {
    warnings: [
      ...describeRemovals('the catalog', catalog.length, differences.filter(({ kind }) => kind === 'removed').length),
      ...describeLists(catalog, differences, partners),
      ...checkListSizes(catalog, next),
      ...findMovedColumns(compared.map(({ paths }) => paths)),
      ...describeFindings([...found.filter(isDoubt), ...jumps]),
    ],
    notes: describeFindings(found.filter((finding) => !isDoubt(finding))),
  }
}

/** What `catalog check` will find of the changed plans, and did not find before. */
function findNewOddities(catalog: Plans, next: Plans, today: string, changes: readonly PlanChange[]): Finding[] {
  const changed = new Map(changes.flatMap(({ after }) => (after ? [[after.identifier, after.id]] : [])))
  const ids = new Set(changed.values())
  // A duplicate is a finding of the later plan.
  const find = (plans: Plans) =>
    findOddities(
      plans.toSorted((a, b) => Number(ids.has(a.id)) - Number(ids.has(b.id))),
      today,
    )
  const before = new Set(find(catalog).map(({ subject, message }) => `${subject} ${message}`))
  return find(next).filter(({ subject, message }) => changed.has(subject) && !before.has(`${subject} ${message}`))
}

function describeFindings(findings: readonly Finding[]): string[] {
  return foldFindings(findings).map(({ subject, message }) => `${subject}: ${message}`)
}

function describeRemovals(place: string, total: number, removed: number): string[] {
  // One plan is an ordinary change, however short the list is.
  return removed > 1 && removed > total * maxRemovedShare ? [`${removed} of ${total} plans leave ${place}.`] : []
}

function describeLists(
  catalog: Plans,
  differences: readonly PlanDifference[],
  partners: DoubtInput['partners'],
): string[] {
  return [...new Set(differences.flatMap(({ disappears }) => disappears))].toSorted().flatMap((country) => {
    const size = catalog.filter(({ viewableIn }) => viewableIn.includes(country)).length
    const lost = differences.filter(({ disappears }) => disappears.includes(country)).length
    const isLeft = size > lost || differences.some(({ appears }) => appears.includes(country))
    if (isLeft) return describeRemovals(`the list of ${country}`, size, lost)
    const active = partners.filter((partner) => partner.country === country && partner.suspendedAt === null)
    const names = active.map(({ shortName }) => shortName)
    const whose = names.length === 0 ? '' : ` Partners there: ${nameSome(names)}.`
    return [`${country} loses its last plan: its list will be empty.${whose}`]
  })
}
