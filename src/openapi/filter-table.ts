// The table of filters in the guides, as Markdown.
import { planFilters } from '../catalog/plan-filters.ts'

export function formatFilterTable(): string {
  const rows = Object.entries(planFilters).map(
    ([name, { expected, description }]) => `| \`${name}\` | ${expected} | ${description} |`,
  )
  return `
| parameter | value | lists |
|---|---|---|
${rows.join('\n')}

`
}
