// Formats two tables from the catalog: the filters, and the cases of the sandbox.
import { demoCases } from '../../catalog/demo-cases.ts'
import { planFilters } from '../../catalog/plan-filters.ts'
import { formatMarkdownTable } from '../markdown.ts'

export function formatFilterTable(): string {
  const rows = Object.entries(planFilters).map(([name, { expected, description }]) => [
    `\`${name}\``,
    expected,
    description,
  ])
  return formatMarkdownTable(['Filter', 'Value', 'Lists'], rows)
}

export function formatCaseTable(): string {
  const rows = Object.entries(demoCases).map(([country, { list, program }]) => [country, list, program])
  return formatMarkdownTable(['Country', 'Its list holds', 'Your program'], rows)
}
