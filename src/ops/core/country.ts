import { abbreviate, isCountryCode } from '../../catalog/plan-schema.ts'

/** What is wrong with a country, or undefined. */
export function findCountryProblem(what: string, country = ''): string | undefined {
  if (isCountryCode(country)) return undefined
  return `${what} has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is ${abbreviate(country)}.`
}
