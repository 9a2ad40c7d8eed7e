// npm run provision -- --env staging
import { provision } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(provision)
