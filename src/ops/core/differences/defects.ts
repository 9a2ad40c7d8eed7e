// Prints the defects of a file, or of the values of a command.
import type { Defect, Place } from '../file-formats/defect.ts'
import { abbreviate } from '../../../abbreviate.ts'
import { UserError } from '../../shared/user-error.ts'

/** More defects of the same kind become one line. */
const maxLines = 10

export function makeDefectError(defects: readonly Defect[]): UserError {
  const groups = Map.groupBy(defects, kindOf)
  const lines = defects.flatMap((defect) => {
    const group = groups.get(kindOf(defect)) ?? []
    if (group.length <= (defect.isOfColumn ? 1 : maxLines)) return describeDefect(defect)
    const others = (group.length - 1).toLocaleString('en')
    return group[0] === defect ? `${describeDefect(defect)} ${others} more like this.` : []
  })
  return new UserError([...new Set(lines)])
}

function kindOf({ place, expected, found, isOfColumn = false }: Defect): string {
  return JSON.stringify([place.kind, place.field ?? found, expected, isOfColumn])
}

function describeDefect({ place, expected, found, alsoAt, fix }: Defect): string {
  const { kind, field } = place
  const owner = describeOwner(place)
  const column = kind === 'row' ? `, column ${field}` : `${owner && ': '}${field}`
  const where = `${owner.charAt(0).toUpperCase()}${owner.slice(1)}${field === undefined ? '' : column}`
  const start = where === '' ? 'Expected' : `${where}: expected`
  const other = alsoAt?.kind === 'row' ? { ...alsoAt, sheet: undefined } : alsoAt
  const also = other === undefined ? '' : `, as in ${describeOwner(other)}`
  return `${start} ${expected}; found ${found}${also}.${fix === undefined ? '' : ` ${fix}`}`
}

/** Describes a place without its field. */
function describeOwner(place: Place): string {
  switch (place.kind) {
    case 'row': {
      const { sheet, row } = place
      return sheet === undefined ? `row ${row}` : `sheet ${abbreviate(sheet)}, row ${row}`
    }
    case 'plan': {
      const { identifier, number } = place
      if (identifier === undefined) return `plan number ${number}`
      return `plan ${abbreviate(identifier)}${number === undefined ? '' : ` (number ${number})`}`
    }
    case 'file':
      return 'the file'
    case 'command':
      return ''
  }
}
