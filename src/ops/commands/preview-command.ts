// partner preview
import type { Command } from 'commander'
import type { FilterName } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'
import { previewPlans } from '../core/partner-preview.ts'
import { printResult } from '../terminal/print-result.ts'
import { formatTable } from '../terminal/table.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'
import { addFilterOptions, parseFilterOptions } from './filter-options.ts'

type PreviewOptions = OutputOptions & Partial<Record<FilterName, string>>

export function addPreviewCommand(partner: Command, { io, withStore }: CommandContext): void {
  addFilterOptions(
    addCommand(partner, 'preview <short-name>', 'show the plans that a partner gets', 'preview acme --currency USD'),
  )
    .option('--json', 'print the plans as an array, as in the response')
    .action(async (shortName: string, options: PreviewOptions) => {
      const filter = parseFilterOptions(options)
      const { plans, emptyBecause } = await withStore(options, (store) => previewPlans(store, shortName, filter))
      printResult(io, options, plans, formatTable(plans.map(toRow)), emptyBecause)
    })
}

function toRow({ id, coolName, fundType, currency, performance1, isInvestable, minInvestableAmounts }: Plan) {
  const minimums = Object.entries(minInvestableAmounts).map(([code, amount]) => `${amount} ${code}`)
  return {
    ID: String(id),
    'COOL NAME': coolName,
    'FUND TYPE': fundType,
    CURRENCY: currency,
    '1 YEAR': performance1 === null ? '' : `${performance1} %`,
    MINIMUM: minimums.join(', '),
    INVESTABLE: isInvestable ? 'yes' : 'no',
  }
}
