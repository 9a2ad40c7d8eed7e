import { abbreviate } from '../../abbreviate.ts'
import { isVisibleLine } from '../../visible-text.ts'

/** @param subject the name of the text. @returns a sentence unless the text is one line of visible characters; otherwise undefined. */
export function findLineProblem(subject: string, text: string, maxLength: number): string | undefined {
  if (isVisibleLine(text, maxLength)) return undefined
  return `The ${subject} must be 1 to ${maxLength} visible characters on one line; it is ${abbreviate(text)}.`
}
