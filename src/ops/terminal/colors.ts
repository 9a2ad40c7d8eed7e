// Colors lines on a terminal.
import type { Piece, Style } from './io.ts'

/** The color of a line, by its first characters. Differences, warnings and check results have such lines. */
const colorsByPrefix: readonly (readonly [prefix: string, style: Style])[] = [
  ['+ ', 'green'],
  ['- ', 'red'],
  ['Warning: ', 'yellow'],
  ['warning  ', 'yellow'],
  ['problem  ', 'red'],
  ['FAIL  ', 'red'],
]

/** Splits a text into lines, and colors each line whose prefix is in `colorsByPrefix`. */
export function paintLines(text: string): Piece[] {
  return text.split(/(?<=\n)/).map((line) => {
    const [, style] = colorsByPrefix.find(([prefix]) => line.startsWith(prefix)) ?? []
    return style ? { style, text: line } : line
  })
}
