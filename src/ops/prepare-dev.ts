// Part of wrangler's build command: a bare `wrangler dev` gets the local state that npm run dev prepares.
import { prepareDev } from './commands/programs.ts'
import { runProgram } from './run-program.ts'

if (process.env['WRANGLER_COMMAND'] === 'dev' && process.env['DEV_STATE'] !== 'prepared') await runProgram(prepareDev)
