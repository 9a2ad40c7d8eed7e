#!/usr/bin/env node
// npm run -s ops -- <noun> <verb> [flags]
import { runOps } from './commands/program.ts'
import { runProgram } from './run-program.ts'

await runProgram(runOps)
