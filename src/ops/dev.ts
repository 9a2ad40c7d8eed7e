// npm run dev
import { dev } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

await runProgram(dev)
