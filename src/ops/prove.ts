// npm run prove -- --env proof
import { runProve } from './commands/prove-command.ts'
import { runProgram } from './run-program.ts'

await runProgram(runProve)
