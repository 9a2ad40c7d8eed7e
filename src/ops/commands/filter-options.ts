// The filters of the plan list as flags, such as --currency USD.
import { Option, type Command } from 'commander'
import { filterNames, planFilters, setFilter, type PlanFilter } from '../../catalog/plan-filters.ts'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

export function addFilterOptions(command: Command): Command {
  for (const name of filterNames) {
    command.addOption(new Option(`${toFlag(name)} <value>`, `with the filter ${name}=<value>`))
  }
  return command
}

/** @throws UserError that names every wrong filter. */
export function parseFilterOptions(options: Partial<Record<keyof PlanFilter, string>>): PlanFilter {
  const filter: PlanFilter = {}
  const problems = filterNames.flatMap((name) => {
    const text = options[name]
    if (text === undefined || setFilter(filter, name, text)) return []
    return `${toFlag(name)} must be ${planFilters[name].expected}; it is ${abbreviate(text)}.`
  })
  if (problems.length > 0) throw new UserError(problems)
  return filter
}

/** `categoryId` is the flag `--category-id`. */
function toFlag(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
