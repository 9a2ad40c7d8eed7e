// npm run -s smoke -- --url https://catalog.example.com
import { smoke } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(smoke)
