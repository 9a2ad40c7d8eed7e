// npm run generate: writes openapi.json. With --check it writes nothing, and exits with 1 when the file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOpenapi } from './openapi-document.ts'
import { describePlan } from './plan-json-schema.ts'

const path = join(import.meta.dirname, 'openapi.json')
const content = `${JSON.stringify(buildOpenapi(describePlan()), null, 2)}\n`
if (!process.argv.includes('--check')) {
  writeFileSync(path, content)
} else if (readFileSync(path, 'utf8') !== content) {
  process.stderr.write('openapi.json is stale: run npm run generate.\n')
  process.exitCode = 1
}
