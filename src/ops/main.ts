#!/usr/bin/env node
// npm run -s ops -- <noun> <verb> [flags]
// oxlint-disable-next-line import/no-unassigned-import -- runs before the imports below, which it makes cheaper
import './fast-imports.mjs'

const [{ ops }, { runProgram }] = await Promise.all([import('./commands/ops.ts'), import('./run-program.ts')])
await runProgram(ops, true)
