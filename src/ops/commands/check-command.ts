// catalog check
import type { Command } from 'commander'
import { checkCatalog } from '../core/catalog-check.ts'
import { listPlans } from '../core/catalog-plans.ts'
import { checkLinks } from '../core/link-check.ts'
import { sortFindings, type Finding } from '../core/plan-rules.ts'
import { UserError } from '../shared/user-error.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatTable } from '../terminal/table.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'

interface CheckOptions extends OutputOptions {
  links?: boolean
}

export function addCheckCommand(catalog: Command, { io, withStore }: CommandContext): void {
  addCommand(
    catalog,
    'check',
    'find implausible figures, old dates, empty lists and the like; exits with 3 when there are errors',
    'check',
  )
    .option('--links', 'also request every link of every plan')
    .option('--json', 'print an array of findings')
    .action(async (options: CheckOptions) => {
      const found = await withProgress(io, 'Reading the catalog', async (onProgress) => {
        const { findings, plans } = await withStore(options, async (store) => ({
          findings: await checkCatalog(store),
          plans: options.links ? await listPlans(store) : [],
        }))
        return [...findings, ...(await checkLinks(plans, onProgress))]
      })
      print(sortFindings(found), options)
    })

  function print(findings: readonly Finding[], options: CheckOptions): void {
    const rows = findings.map(({ level, subject, message }) => ({ LEVEL: level, SUBJECT: subject, FINDING: message }))
    printResult(io, options, findings, formatTable(rows), rows.length === 0 ? 'Nothing to look at.' : undefined)
    const errors = findings.filter(({ level }) => level === 'error').length
    if (errors > 0) throw new UserError(`${errors === 1 ? '1 error needs' : `${errors} errors need`} a fix.`, 3)
  }
}
