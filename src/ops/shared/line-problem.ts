import { abbreviate } from '../../abbreviate.ts'
import { isVisibleLine } from '../../visible-text.ts'

/** @param subject such as `name`. @returns a sentence for a text that is not one line of visible characters; otherwise undefined. */
export function findLineProblem(subject: string, text: string, maxLength: number): string | undefined {
  if (isVisibleLine(text, maxLength)) return undefined
  return `The ${subject} must be 1 to ${maxLength} visible characters on one line; it is ${abbreviate(text)}.`
}
