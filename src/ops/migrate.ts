// npm run migrate -- --remote --env staging
import { migrate } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(migrate)
