// Runs the example of every command, as its help shows it.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ops } from '../../../src/ops/commands/ops.ts'
import { listEntries } from '../../../src/ops/commands/program.ts'
import type { Target } from '../../../src/ops/shared/target.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const project = resolve(import.meta.dirname, '../../..')
const demo = join(project, 'src/catalog/demo.json')
const plan = 'dhahabu-gold-tracker'
const kid = '20260101T000000Z_0a1b2c3d'
const bindings = useMemoryBindings()

beforeEach(() => emptyDatabase(bindings()))

function run(words: readonly string[], stdin = '', config: Record<string, string> = {}) {
  const openStore = (target: Target) => openBindingStore(bindings(), target, { PBKDF2_ITERATIONS: 1, ...config })
  return runCommand(
    words,
    {
      withStore: (target, work) => work(openStore(target)),
      openKeyRing: () => ({
        list: async () => [
          { kid: 'new', use: 'signs' },
          { kid, use: 'verifies' },
        ],
        checkEditable: async () => {},
        rotate: ({ recorded }) => recorded('another', async () => {}),
        drop: async () => {},
      }),
      openUsage: async () => async () => [],
      findOrigin: async () => 'http://127.0.0.1:9',
      inspectEnvironment: async () => ({ migrations: [], deployment: undefined }),
    },
    { stdin },
  )
}

/** The words of an example as a shell reads them. */
function readWords(example: string): string[] {
  const [command = ''] = example.split(' < ')
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}

/** Makes what an example works on. @returns the words to replace, and what standard input has. */
async function prepare(words: readonly string[], folder: string): Promise<[Record<string, string>, string]> {
  const command = words.slice(0, 2).join(' ')
  if (command === 'partner create') return [{}, '']
  const { stdout } = await run(readWords('partner create --short-name acme --name Acme --country KE --json'))
  if (command === 'restore production.backup') {
    await run(['backup', join(folder, 'production.backup')])
    await emptyDatabase(bindings())
    return [{}, '']
  }
  if (command !== 'catalog import') await run(['catalog', 'import', demo])
  await run(['catalog', 'export', '--output', 'performance.xlsx'])
  if (command === 'partner resume') await run(['partner', 'suspend', 'acme'])
  const isWaiting = /^(approve|cancel)$/.test(words[1] ?? '')
  const change = ['plan', 'set', plan, 'performance1=12.5', '--json', '--as', 'author@example.com']
  const made = await run(change, '', isWaiting ? { CATALOG_APPROVAL: 'required' } : {})
  const { publication } = JSON.parse(made.stdout === '' ? '{}' : made.stdout)
  const { clientSecret } = JSON.parse(stdout)
  return [{ '12': String(publication?.id), KID: kid }, clientSecret]
}

test.each(listEntries(ops).map(({ declaration }) => declaration.example))('%s', async (example) => {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  vi.stubEnv('INIT_CWD', folder)
  await cp(join(project, 'src/catalog'), join(folder, 'src/catalog'), { recursive: true })
  const words = readWords(example)
  const [replacements, stdin] = await prepare(words, folder)
  const { code, stderr } = await run(
    words.map((word) => replacements[word] ?? word),
    stdin,
  )
  // No service runs here, so watch finds problems.
  const expected = words[0] === 'watch' ? [3, '2 problems need a fix.\n'] : [0, '']
  expect([code, code === 0 ? '' : stderr]).toEqual(expected)
})
