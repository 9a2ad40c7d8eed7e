#!/usr/bin/env node
// npm run -s ops -- <noun> <verb> [flags]
import { ops } from './commands/ops.ts'
import { runProgram } from './run-program.ts'

await runProgram(ops, true)
