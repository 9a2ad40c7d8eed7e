// Checks a country code that an operator typed.
import { abbreviate } from '../../abbreviate.ts'
import { describeCountryHint, isCountryCode } from '../../catalog/country-codes.ts'
import { throwProblems } from './user-error.ts'

/** @returns a sentence, with a hint for codes such as `UK`; undefined for a country code. */
export function describeCountryProblem(country: string): string | undefined {
  if (isCountryCode(country)) return undefined
  return `The country must be an ISO 3166-1 alpha-2 code, such as KE; it is ${abbreviate(country)}${describeCountryHint(country)}.`
}

/** Turns two letters into capitals. Returns any other text unchanged. */
export function toUpperCaseCode(country: string): string {
  return /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : country
}

/** @throws UserError for any other text than a country code. */
export function checkCountry(country: string): void {
  throwProblems([describeCountryProblem(country)])
}
