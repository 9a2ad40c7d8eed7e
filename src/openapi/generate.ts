// npm run generate: writes openapi.json. With --check it writes nothing, and exits with 1 if the file is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatOpenapi } from './openapi-document.ts'

const path = join(import.meta.dirname, 'openapi.json')
const content = formatOpenapi()
if (!process.argv.includes('--check')) {
  writeFileSync(path, content)
} else if (readFileSync(path, 'utf8') !== content) {
  process.stderr.write('openapi.json is stale: run npm run generate.\n')
  process.exitCode = 1
}
