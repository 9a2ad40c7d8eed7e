import { abbreviate } from '../../abbreviate.ts'
import { findCountryHint, isCountryCode } from '../../catalog/country-codes.ts'
import { throwProblems } from './user-error.ts'

/** @returns what is wrong with a country code, or undefined. */
export function findCountryProblem(country: string): string | undefined {
  if (isCountryCode(country)) return undefined
  return `The country must be an ISO 3166-1 alpha-2 code, such as KE; it is ${abbreviate(country)}${findCountryHint(country)}.`
}

/** People may type a code in lower case. Files are strict. */
export function toUpperCaseCode(country: string): string {
  return /^[A-Za-z]{2}$/.test(country) ? country.toUpperCase() : country
}

/** @throws UserError when this is no country code. */
export function checkCountry(country: string): void {
  throwProblems([findCountryProblem(country)])
}
