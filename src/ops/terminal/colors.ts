// The colors of lines on a terminal.
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

/** Gives each line the color of its start. */
export function paintLines(text: string): Piece[] {
  return text.split(/(?<=\n)/).map((line) => {
    const [, style] = starts.find(([start]) => line.startsWith(start)) ?? []
    return style ? { style, text: line } : line
  })
}
