// The filters of the plan list as flags, such as --currency USD.
import { abbreviate } from '../../abbreviate.ts'
import { filterNames, planFilters, setFilter, type FilterName, type PlanFilter } from '../../catalog/plan-filters.ts'
import { UserError } from '../shared/user-error.ts'
import { toFlag } from './declaration.ts'

type FilterFlag = { value: '<value>'; help: string; parse: (text: string) => PlanFilter }

/** Each is parsed to a filter of its own. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- fromEntries forgets the names
export const filterFlags = Object.fromEntries(filterNames.map((name) => [name, makeFlag(name)])) as Record<
  FilterName,
  FilterFlag
>

function makeFlag(name: FilterName): FilterFlag {
  return {
    value: '<value>',
    help: `with the filter ${name}=<value>`,
    parse: (text) => {
      const filter: PlanFilter = {}
      if (setFilter(filter, name, text)) return filter
      throw new UserError(`${toFlag(name)} must be ${planFilters[name].expected}; it is ${abbreviate(text)}.`)
    },
  }
}

/** Combines the flags of a command. */
export function readFilter(input: Readonly<Partial<Record<FilterName, PlanFilter | undefined>>>): PlanFilter {
  return Object.assign({}, ...filterNames.map((name) => input[name]))
}
