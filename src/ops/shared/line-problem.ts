// Checks a short text that an operator typed, such as a name.
import { abbreviate } from '../../abbreviate.ts'
import { isVisibleLine } from '../../visible-text.ts'

/** @param subject the name of the text. @returns a sentence, or undefined for 1 to `maxLength` visible characters on one line. */
export function describeLineProblem(subject: string, text: string, maxLength: number): string | undefined {
  if (isVisibleLine(text, maxLength)) return undefined
  return `The ${subject} must be 1 to ${maxLength} visible characters on one line; it is ${abbreviate(text)}.`
}
