// npm run generate: writes openapi.json and the table in the filters guide. With --check it writes nothing, and exits with 1
// when one of them is stale.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format } from 'oxfmt'
import oxfmtConfig from '../../.oxfmtrc.json' with { type: 'json' }
import { formatFilterTable } from './filter-table.ts'
import { readChanges } from '../site/change-history.ts'
import { buildOpenapi } from './openapi-document.ts'
import { describePlan } from './plan-json-schema.ts'

const root = join(import.meta.dirname, '../..')

const { plan, objects } = describePlan()
const openapi = buildOpenapi({ plan, objects }, readChanges()[0].version)
const filterTable = formatFilterTable()

/** The generated files. Each function makes the new content from the current content. */
const outputs: Record<string, (current: string) => string | Promise<string>> = {
  'src/openapi/openapi.json': () => `${JSON.stringify(openapi, null, 2)}\n`,
  'src/site/pages/filters.md': (current) => formatCode('filters.md', replaceGenerated(current, filterTable)),
}

/** Replaces the lines between the two markers. */
function replaceGenerated(text: string, generated: string): string {
  const parts = /^([^]*BEGIN GENERATED[^\n]*\n)[^]*(\n[^\n]*END GENERATED[^]*)$/.exec(text)
  if (!parts) throw new Error('no line with BEGIN GENERATED, followed by a line with END GENERATED')
  return `${parts[1]}${generated.trimEnd()}\n${parts[2]}`
}

async function formatCode(fileName: string, text: string): Promise<string> {
  const { code } = await format(fileName, text, oxfmtConfig)
  return code
}

const isCheck = process.argv.includes('--check')
for (const [file, makeContent] of Object.entries(outputs)) {
  const path = join(root, file)
  const current = await readFile(path, 'utf8').catch(() => '')
  const content = await makeContent(current)
  if (content === current) continue
  if (!isCheck) {
    await writeFile(path, content)
    process.stdout.write(`Wrote ${file}.\n`)
  } else {
    process.stderr.write(`${file} is stale: run npm run generate.\n`)
    process.exitCode = 1
  }
}
