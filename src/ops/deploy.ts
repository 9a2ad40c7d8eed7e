// npm run deploy -- --env staging
import { runDeploy } from './commands/deploy-command.ts'
import { runProgram } from './run-program.ts'

await runProgram(runDeploy)
