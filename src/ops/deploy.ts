// npm run deploy -- --env staging
import { createCommandContext } from './commands/command-context.ts'
import { runDeploy } from './commands/deploy-command.ts'
import { enterProject } from './project.ts'

enterProject()
const { stdin, stdout, stderr } = process
const code = await runDeploy(createCommandContext({ stdin, stdout, stderr }, process.argv.slice(2)))
// Waits for the output, then exits: a store that failed to open can leave handles that keep the process alive.
stdout.write('', () => process.exit(code))
