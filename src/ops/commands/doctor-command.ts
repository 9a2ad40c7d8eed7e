// doctor
import type { Command } from 'commander'
import { examine } from '../core/doctor.ts'
import { UserError } from '../core/user-error.ts'
import type { Target } from '../store/target.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext } from './command-context.ts'

export function addDoctorCommand(program: Command, { io, withStore }: CommandContext): void {
  addCommand(program, 'doctor', 'check what an operator must fix; exits with 2 when there is something', 'doctor')
    .option('--json', 'print an array of findings')
    .action(async ({ json, ...target }: { json?: boolean } & Target) => {
      const findings = await withStore(target, examine)
      const lines = findings.map(({ name, level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`)
      io.stdout.write(json ? `${JSON.stringify(findings)}\n` : lines.join(''))
      const count = findings.filter(({ level }) => level === 'problem').length
      if (count > 0) throw new UserError(`${count === 1 ? '1 problem needs' : `${count} problems need`} a fix.`)
    })
}
