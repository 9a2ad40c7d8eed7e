// The defects of a file of plans, or of values that an operator typed: each says where, what was expected, and what was found.
import { suggestName } from '../../shared/suggest-name.ts'
import { UserError } from '../../shared/user-error.ts'
import { describeValue } from './plan-cells.ts'

export interface Place {
  kind: 'row' | 'plan' | 'file' | 'command'
  /** Such as `sheet "Plans", row 2`, `plan "gold"` or `the file`. Empty for a value that was typed in a command. */
  owner: string
  /** The column, or the path in a plan. */
  field?: string | undefined
}

export const wholeFile: Place = { kind: 'file', owner: 'the file' }

/** Each text is a part of a sentence: expected a number; found "abc", as in row 2. */
export interface Defect {
  place: Place
  expected: string
  found: string
  /** Another place with the same value. */
  alsoAt?: Place | undefined
  /** A sentence of its own. */
  fix?: string | undefined
  /** Whether one line is enough for all defects of the same kind in a column. */
  isOfColumn?: boolean
}

/** @param noun the kind of name, such as `field`. @param candidates the known names, of which the most similar one is suggested. */
export function makeUnknownNameDefect(place: Place, noun: string, name: string, candidates: readonly string[]): Defect {
  const expected = `the name of a ${noun}`
  return { place, expected, found: describeValue(name), fix: suggestName(name, candidates) }
}

/** More defects of the same kind become one line. */
const maxLines = 10

/** @returns an error with a line for each defect. */
export function makeDefectError(defects: readonly Defect[]): UserError {
  const groups = Map.groupBy(defects, keyOfKind)
  const lines = defects.flatMap((defect) => {
    const group = groups.get(keyOfKind(defect)) ?? []
    if (group.length <= (defect.isOfColumn ? 1 : maxLines)) return describeDefect(defect)
    const others = (group.length - 1).toLocaleString('en')
    return group[0] === defect ? `${describeDefect(defect)} ${others} more like this.` : []
  })
  return new UserError([...new Set(lines)])
}

/** Defects of the same field that expect the same are of one kind. */
function keyOfKind({ place, expected, found, isOfColumn = false }: Defect): string {
  return JSON.stringify([place.kind, place.field ?? found, expected, isOfColumn])
}

function describeDefect({ place, expected, found, alsoAt, fix }: Defect): string {
  const { kind, owner, field = '' } = place
  const subject = `${owner.charAt(0).toUpperCase()}${owner.slice(1)}`
  const where = [subject, field].filter((part) => part !== '').join(kind === 'row' ? ', column ' : ': ')
  const start = where === '' ? 'Expected' : `${where}: expected`
  const also = alsoAt === undefined ? '' : `, as in ${alsoAt.owner}`
  return `${start} ${expected}; found ${found}${also}.${fix === undefined ? '' : ` ${fix}`}`
}
