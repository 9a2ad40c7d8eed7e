import { abbreviate } from '../../abbreviate.ts'
import { isVisibleLine } from '../../visible-text.ts'

/** @returns what keeps a text from being a line of visible characters, or undefined. */
export function findLineProblem(subject: string, text: string, maxLength: number): string | undefined {
  if (isVisibleLine(text, maxLength)) return undefined
  return `The ${subject} must be 1 to ${maxLength} visible characters on one line; it is ${abbreviate(text)}.`
}
