// npm run provision -- --env staging
import { runProvision } from './commands/provision-command.ts'
import { runProgram } from './run-program.ts'

await runProgram(runProvision)
