// npm run prove -- --env proof
import { prove } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(prove)
