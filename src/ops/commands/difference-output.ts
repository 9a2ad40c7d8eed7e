// Prints the difference between two catalogs, country by country.
import { abbreviatePair } from '../../abbreviate.ts'
import type { CatalogDifference, CountryDifference } from '../core/catalog-difference.ts'

export function formatCountries({ countries, unseen }: CatalogDifference): string[] {
  const seen = Object.entries(countries).flatMap(([country, list]) => formatCountry(country, list))
  return unseen.length === 0
    ? seen
    : [...seen, 'On the list of no country:', ...unseen.map((identifier) => `  ${identifier}`)]
}

function formatCountry(country: string, { appears, disappears, changes }: CountryDifference): string[] {
  return [
    `${country}: ${appears.length} appear, ${disappears.length} disappear, ${changes.length} change`,
    ...appears.map((identifier) => `  + ${identifier}`),
    ...disappears.map((identifier) => `  - ${identifier}`),
    ...changes.flatMap(({ identifier, fields }) => [
      `  ~ ${identifier}`,
      ...Object.entries(fields).map(
        ([name, { from, to }]) => `      ${name}: ${abbreviatePair(from, to).join(' -> ')}`,
      ),
    ]),
  ]
}
