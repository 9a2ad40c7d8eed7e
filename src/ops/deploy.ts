// npm run deploy -- --env staging
import { deploy } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(deploy)
