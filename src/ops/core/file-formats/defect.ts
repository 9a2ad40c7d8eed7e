// The defects of a file of plans, as data. core/differences/defects.ts prints them. Pure.
import { suggestName } from '../../shared/suggest-name.ts'
import { describeValue } from './plan-cells.ts'

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
  /** Whether it is said once for a column. */
  isOfColumn?: boolean
}

/** A file that can't be used. */
export interface Invalid {
  kind: 'invalid'
  defects: Defect[]
}

/** @param candidates the known names. */
export function findUnknownName(place: Place, kind: string, name: string, candidates: readonly string[]): Defect {
  return {
    place,
    expected: `the name of a ${kind}`,
    found: describeValue(name),
    fix: suggestName(name, candidates),
  }
}
