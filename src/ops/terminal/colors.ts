// The colors of lines and words on a terminal.
import type { Piece, Style } from './io.ts'

/** How lines start: in a difference, in warnings, and in the results of checks. */
const starts: readonly (readonly [start: string, style: Style])[] = [
  ['+ ', 'green'],
  ['- ', 'red'],
  ['Warning: ', 'yellow'],
  ['warning  ', 'yellow'],
  ['problem  ', 'red'],
  ['FAIL  ', 'red'],
]

export function paintLines(text: string): Piece[] {
  return text.split(/(?<=\n)/).map((line) => {
    const [, style] = starts.find(([start]) => line.startsWith(start)) ?? []
    return style ? { style, text: line } : line
  })
}

const cells: Readonly<Record<string, Style>> = {
  'ACTION conflicted': 'red',
  'ACTION scheduled': 'yellow',
  'ACTION will conflict': 'red',
  'ACTION waiting': 'yellow',
  'STATUS ended': 'red',
  'STATUS suspended': 'red',
}

/** Paints a state in a table, by its first word. */
export function paintCell(heading: string, cell: string): Piece {
  const [, style] = Object.entries(cells).find(([start]) => `${heading} ${cell}`.startsWith(start)) ?? []
  return style ? { style, text: cell } : cell
}
