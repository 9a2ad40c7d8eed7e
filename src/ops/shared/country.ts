import { abbreviate } from '../../abbreviate.ts'
import { findCountryHint, isCountryCode } from '../../catalog/country-codes.ts'
import { throwProblems } from './user-error.ts'

/** @returns a sentence for a text that is no country code, with a hint for `UK`; otherwise undefined. */
export function findCountryProblem(country: string): string | undefined {
  if (isCountryCode(country)) return undefined
  return `The country must be an ISO 3166-1 alpha-2 code, such as KE; it is ${abbreviate(country)}${findCountryHint(country)}.`
}

/** Turns a code that somebody typed into capitals. Any other text stays as it is. */
export function toUpperCaseCode(country: string): string {
  return /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : country
}

/** @throws UserError unless a text is a country code. */
export function checkCountry(country: string): void {
  throwProblems([findCountryProblem(country)])
}
