// Colors lines on a terminal.
import type { Piece, Style } from './io.ts'

/** The color of a line of a difference, of a warning or of a check result, by the first characters of the line. */
const colorsByPrefix: readonly (readonly [prefix: string, style: Style])[] = [
  ['+ ', 'green'],
  ['- ', 'red'],
  ['Warning: ', 'yellow'],
  ['warning  ', 'yellow'],
  ['problem  ', 'red'],
  ['FAIL  ', 'red'],
]

export function paintLines(text: string): Piece[] {
  return text.split(/(?<=\n)/).map((line) => {
    const [, style] = colorsByPrefix.find(([prefix]) => line.startsWith(prefix)) ?? []
    return style ? { style, text: line } : line
  })
}
