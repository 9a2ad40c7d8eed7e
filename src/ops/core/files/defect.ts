// What is wrong with a file of plans, as data: ops/core/defects.ts prints it. Pure.
import { describeValue } from './plan-cells.ts'
import type { CatalogPlan } from '../../../catalog/plan-schema.ts'

/** Where a defect is. Rows and numbers of plans count from 1. */
export type Place = { field?: string | undefined } & (
  | { kind: 'row'; sheet: string | undefined; row: number }
  /** A plan without a usable identifier has only its number. */
  | { kind: 'plan'; identifier?: string | undefined; number?: number }
  | { kind: 'file' | 'command' }
)

export type RowPlace = Extract<Place, { kind: 'row' }>

/** Each text is a part of a sentence: expected a number; found "abc", as in row 2. */
export interface Defect {
  place: Place
  expected: string
  found: string
  /** Another place with the same value. */
  alsoAt?: Place
  /** A sentence of its own. */
  fix?: string | undefined
}

/** The defects of a file that can't be used. */
export interface Invalid {
  kind: 'invalid'
  defects: Defect[]
  /** The places of the valid plans. */
  places: ReadonlyMap<CatalogPlan, Place>
}

/** @param candidates the known names. */
export function findUnknownName(place: Place, kind: string, name: string, candidates: readonly string[]): Defect {
  const meant = suggestName(name, candidates)
  return {
    place,
    expected: `the name of a ${kind}`,
    found: describeValue(name),
    fix: meant && `Did you mean ${meant}?`,
  }
}

/** @returns the name that differs in case, or in one or two letters; or that of a member. */
function suggestName(name: string, candidates: readonly string[]): string | undefined {
  const maxDistance = name.length < 5 ? 1 : 2
  const typed = name.trim().toLowerCase()
  const [nearest] = candidates
    .filter((candidate) => Math.abs(candidate.length - typed.length) <= maxDistance)
    .map((candidate) => ({ candidate, distance: countEdits(typed, candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance)
  return nearest?.candidate ?? candidates.find((candidate) => candidate.startsWith(`${name}.`))
}

/** Counts the letters to insert, delete or replace (Levenshtein). */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [index, letter] of from.split('').entries()) {
    const next = [index + 1]
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + Number(letter !== to[column - 1])
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
