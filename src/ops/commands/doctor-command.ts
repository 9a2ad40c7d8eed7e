// doctor
import type { Command } from 'commander'
import { examine } from '../core/doctor.ts'
import { UserError } from '../shared/user-error.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext, OutputOptions } from './command-context.ts'

export function addDoctorCommand(
  program: Command,
  { io, clock, withStore, openKeyRing, inspectEnvironment }: CommandContext,
): void {
  addCommand(
    program,
    'doctor',
    'check what an operator must fix; exits with 2 when there is something',
    'doctor --remote --env staging',
  )
    .option('--json', 'print an array of checks')
    .action(async (options: OutputOptions) => {
      const checks = await withProgress(io, 'Examining', () =>
        withStore(options, async (store) =>
          examine(store, await inspectEnvironment(options), openKeyRing(options), clock),
        ),
      )
      const lines = checks.map(({ name, level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`)
      printResult(io, options, checks, lines.join(''))
      const count = checks.filter(({ level }) => level === 'problem').length
      if (count > 0) throw new UserError(`${count === 1 ? '1 problem needs' : `${count} problems need`} a fix.`)
    })
}
