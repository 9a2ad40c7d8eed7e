// An operator's story: every command of src/ops/README.md, in its order, as typed.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { parseCatalog } from '../../src/catalog/catalog-file.ts'
import { publishPlans } from '../support/publish-plans.ts'
import { useFakeCloudflare } from './support/fake-cloudflare.ts'
import { useLocalBindings } from './support/local-bindings.ts'
import { runOnState, useLocalState } from './support/local-state.ts'
import { runCommand } from './support/run-ops.ts'

const project = resolve(import.meta.dirname, '../..')
const demo = join(project, 'src/catalog/demo.json')
useLocalState()
const bindings = useLocalBindings()
useFakeCloudflare(bindings)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
})
afterAll(() => rm(folder, { recursive: true }))

interface Line {
  words: string[]
  /** Where the shell would write the output. */
  output: string | undefined
}

/** Reads the commands of the page, as a shell would. */
async function readLines(): Promise<Line[]> {
  const page = await readFile(join(project, 'src/ops/README.md'), 'utf8')
  return [...page.matchAll(/^ {4}npm run -s ops -- (.*)$/gm)]
    .map(([, text = '']) => text)
    .filter((text) => !text.startsWith('<noun>'))
    .map((text) => {
      const [command = '', output] = text.split(' > ')
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      const here = (word: string) => word.replace('/tmp/', `${folder}/`)
      return { words: words.map(here), output: output === undefined ? undefined : here(output) }
    })
}

async function runStory(run: (words: string[]) => ReturnType<typeof runCommand>): Promise<string[]> {
  const lines = await readLines()
  for (const { words: typed, output } of lines) {
    // What the page leaves to the reader: a past time, and the number of the latest publication.
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const [latest] = JSON.parse((await run(['catalog', 'log', '--json'])).stdout)
    const words = typed.map((word) => word.replace(/^TIME$/, now).replace(/^NUMBER$/, String(latest.id)))
    const { code, stdout, stderr } = await run(words)
    expect([words.join(' '), code, code === 0 ? '' : stderr]).toEqual([words.join(' '), 0, ''])
    if (output !== undefined) await writeFile(output, stdout)
  }
  return lines.map(({ words }) => words.slice(0, 2).join(' '))
}

test('works on a local state', async () => {
  await runOnState('catalog', 'import', demo)
  const commands = await runStory((words) => runOnState(...words))
  for (const command of ['catalog undo', 'catalog cancel', 'plan why', 'partner log']) {
    expect(commands).toContain(command)
  }
})

test('works on a deployed environment', async () => {
  const file = parseCatalog(await readFile(demo, 'utf8'))
  if (file.kind === 'invalid') throw new Error('the demo catalog is invalid')
  await publishPlans(openDatabase(bindings().DB), file.plans)
  const commands = await runStory(async (words) => {
    const command = [...words, '--remote', '--env', 'staging']
    const asks = /^(partner rotate|catalog (import|update|undo|approve)|keys)/.test(words.join(' '))
    return runCommand(asks && !words.includes('--dry-run') ? [...command, '--yes'] : command)
  })
  expect(commands).toContain('catalog undo')
})
