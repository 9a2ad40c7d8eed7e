// Defects: mistakes in a file of plans, or in values that an operator typed. Each says where it is, what was expected, and what was found.
import { suggestName } from '../../shared/suggest-name.ts'
import { UserError } from '../../shared/user-error.ts'
import { describeValue } from './plan-cells.ts'

export interface Place {
  kind: 'row' | 'plan' | 'file' | 'command'
  /** What has the defect, such as `sheet "Plans", row 2`, `plan "gold"` or `the file`. Empty for a value that was typed in a command. */
  owner: string
  /** The column, or the path in a plan. */
  field?: string | undefined
}

export const wholeFile: Place = { kind: 'file', owner: 'the file' }
export const typedInCommand: Place = { kind: 'command', owner: '' }

/** `expected` and `found` are parts of one sentence: expected a number; found "abc", as in row 2. */
export interface Defect {
  place: Place
  expected: string
  found: string
  /** Another place with the same value. */
  alsoAt?: Place | undefined
  /** A sentence that says how to correct the mistake. */
  fix?: string | undefined
  /** True if the whole column has this defect. The message then has only one line for the column. */
  isOfColumn?: boolean
}

/** @param noun the kind of the name, such as `field`. @param candidates the known names. The defect has a `fix` only if one of them is similar. */
export function makeUnknownNameDefect(place: Place, noun: string, name: string, candidates: readonly string[]): Defect {
  const expected = `the name of a ${noun}`
  return { place, expected, found: describeValue(name), fix: suggestName(name, candidates) }
}

/** More defects of one kind become one line, which shows the first defect and counts the others. */
const maxLinesOfKind = 10

export function makeDefectError(defects: readonly Defect[]): UserError {
  const groups = Map.groupBy(defects, makeKindKey)
  const lines = defects.flatMap((defect) => {
    const defectsOfKind = groups.get(makeKindKey(defect)) ?? []
    if (defectsOfKind.length <= (defect.isOfColumn ? 1 : maxLinesOfKind)) return describeDefect(defect)
    const otherCount = (defectsOfKind.length - 1).toLocaleString('en')
    return defectsOfKind[0] === defect ? `${describeDefect(defect)} ${otherCount} more like this.` : []
  })
  return new UserError([...new Set(lines)])
}

/** Defects of one kind have the same field and expectation. Without a field, as for an unknown name, they have the same found text. */
function makeKindKey({ place, expected, found, isOfColumn = false }: Defect): string {
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
