// Checks a short text that an operator typed, such as a name.
import { abbreviate } from '../../abbreviate.ts'
import { hasVisibleCharacter } from '../../visible-text.ts'

/** Matches only characters that a terminal shows on one line, with no space at either end. */
const line = /^[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]*[^\s\p{C}])?$/u

/** @param subject the name of the text. @returns a sentence that says what the text must be; undefined for a right text. */
export function describeLineProblem(subject: string, text: string, maxLength: number): string | undefined {
  if (text.length <= maxLength && line.test(text) && hasVisibleCharacter(text)) return undefined
  return `The ${subject} must be 1 to ${maxLength} visible characters on one line, with no space at either end; it is ${abbreviate(text)}.`
}
