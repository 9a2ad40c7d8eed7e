// The operators' command line: its commands.
import { describeCommand } from '../shared/target.ts'
import { addBackupCommands } from './backup-commands.ts'
import { addCheckCommand } from './check-command.ts'
import { addCatalogCommands } from './catalog-commands.ts'
import type { CommandContext } from './command-context.ts'
import { addCompletionCommand } from './completion-command.ts'
import { addDoctorCommand } from './doctor-command.ts'
import { addKeyCommands } from './keys-commands.ts'
import { openProgram, type ExitCode } from './open-program.ts'
import { addPublicationCommands } from './publication-commands.ts'
import { addUsageCommand } from './usage-command.ts'
import { addPreviewCommand } from './preview-command.ts'
import { addPartnerCommands } from './partner-commands.ts'
import { addPlanCommands } from './plan-commands.ts'

export async function runOps(unescaped: CommandContext): Promise<ExitCode> {
  const { program, context, run } = openProgram('ops', unescaped, describeHelp)
  program
    .description(description)
    .usage('<noun> <verb> [flags]')
    .addHelpText(
      'after',
      '\nRun it as: npm run -s ops -- <noun> <verb> [flags]\nWithout the -- before them, npm keeps flags such as --dry-run for itself.\nIn the project folder, npx ops <noun> <verb> [flags] does the same.\n',
    )
  const partner = program.command('partner').description('onboard partners, and manage their credentials')
  addPartnerCommands(partner, context)
  addPreviewCommand(partner, context)
  addUsageCommand(partner, context)
  const catalog = program
    .command('catalog')
    .description('import and export the plan catalog, and its record of changes')
  addCatalogCommands(catalog, context)
  addPublicationCommands(catalog, context)
  addCheckCommand(catalog, context)
  addPlanCommands(program, context)
  addKeyCommands(program, context)
  addDoctorCommand(program, context)
  addBackupCommands(program, context)
  addCompletionCommand(program, context)
  return run()
}

function describeHelp(words: readonly string[]): string {
  return describeCommand({}, ...words, '--help')
}

const description = `Operate the partner investment plan catalog.

Start with these, and add --help to any command:
  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE
  npm run -s ops -- catalog import plans.json --dry-run
  npm run -s ops -- plan why ID --partner acme`
