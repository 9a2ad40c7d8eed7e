// An operator's story: every command of src/ops/README.md, in its order, as typed.
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { listFlags } from '../../src/ops/commands/frame/shared-flags.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { clientSecretPattern } from '../../src/crypto/client-secret.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { readDemoPlans } from '../support/demo-plans.ts'
import { publishPlans } from '../support/publish-plans.ts'
import { useFakeCloudflare } from './support/fake-cloudflare.ts'
import { useMemoryBindings } from './support/memory-bindings.ts'
import { runOnState, useLocalState } from './support/local-state.ts'
import { listVerbs, runCommand, type Terminal } from './support/run-ops.ts'

const project = resolve(import.meta.dirname, '../..')
const demo = join(project, 'src/catalog/demo.json')
const state = useLocalState()
const bindings = useMemoryBindings()
useFakeCloudflare(bindings)

interface Line {
  words: string[]
  /** Whether the shell would read a file with the secret that was printed last. */
  isFed: boolean
}

/** Reads the commands of the page, as a shell would. Each story works on an environment and in a folder of its own. */
async function readLines(): Promise<Line[]> {
  const folder = await createFolder()
  const page = await readFile(join(project, 'src/ops/README.md'), 'utf8')
  return [...page.matchAll(/^ {4,}npm run -s ops -- (.*)$/gm)]
    .map(([, text = '']) => text.replace(' --remote --env production', ''))
    .filter((text) => !text.startsWith('<noun>'))
    .map((text) => {
      const [command = '', file] = text.split(' < ')
      const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      return { words: words.map((word) => word.replace('/tmp/', `${folder}/`)), isFed: file !== undefined }
    })
}

type Run = (words: string[], terminal?: Terminal) => ReturnType<typeof runCommand>

async function runStory(run: Run): Promise<string[]> {
  const lines = await readLines()
  let secret = ''
  for (const { words: typed, isFed } of lines) {
    // What the page leaves to the reader: a past time, the number of the latest publication, and the partner of a secret.
    const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
    const entries: { kind: string; id: number }[] = JSON.parse((await run(['log', '--json'])).stdout)
    const latest = entries.find(({ kind }) => kind === 'publication')
    const replace = (word: string) =>
      word
        .replace(/^TIME$/, now)
        .replace(/^NUMBER$/, String(latest?.id))
        .replace(/^SHORT_NAME$/, 'jirani')
    const words = typed.map(replace)
    const { code, stdout, stderr } = await run(words, isFed ? { stdin: secret } : {})
    const command = words.join(' ')
    expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' })
    secret = new RegExp(clientSecretPattern).exec(stdout)?.[0] ?? secret
  }
  return lines.map(({ words }) => words.slice(0, 2).join(' '))
}

test('works on a local state', async () => {
  await runOnState('catalog', 'import', demo)
  const commands = await runStory((words, terminal) => runCommand([...words, '--persist-to', state], {}, terminal))
  for (const command of ['partner lockdown', 'catalog undo', 'catalog cancel', 'why boda', 'log --partner']) {
    expect(commands).toContain(command)
  }
})

test('works on a deployed environment', async () => {
  await publishPlans(openOperatorDatabase(bindings().DB), await readDemoPlans())
  const asking = new Set((await listVerbs()).flatMap(([words, verb]) => ('yes' in listFlags(verb) ? [words] : [])))
  const commands = await runStory(async (words, terminal) => {
    const yes = asking.has(words.slice(0, 2).join(' ')) ? ['--yes'] : []
    return runCommand([...words, '--remote', '--env', 'staging', ...yes], {}, terminal)
  })
  expect(commands).toContain('catalog undo')
})
