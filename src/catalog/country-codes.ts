// Recognizes the codes of countries.
import { iso31661 } from 'iso-3166'

const countryCodes = new Set(iso31661.map(({ alpha2 }) => alpha2))

export function isCountryCode(text: string): boolean {
  return countryCodes.has(text)
}

/** @returns words for the refusal of `UK`, which people write instead of `GB`; '' for any other text. */
export function describeCountryHint(text: unknown): string {
  return text === 'UK' ? ' (the United Kingdom is GB)' : ''
}
