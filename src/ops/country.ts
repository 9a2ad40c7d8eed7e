import { abbreviate, isCountryCode } from '../catalog/plan.ts'

/** What is wrong with the value of `--country`, or undefined. */
export function findCountryProblem(country = ''): string | undefined {
  if (isCountryCode(country)) return undefined
  return `--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is ${abbreviate(country)}.`
}
