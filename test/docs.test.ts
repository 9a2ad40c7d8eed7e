// The Markdown files name files and tests that exist.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { alerts } from '../src/ops/core/service/usage-queries.ts'
import { clientSecretPattern } from '../src/crypto/client-secret.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const exclude = ['**/node_modules/**']
const documents = globSync(['*.md', '.github/*.md', '{src,test}/**/*.md'], { cwd: root, exclude })

describe.each(documents)('%s', (document) => {
  const text = read(document)

  test('names files that exist', () => {
    const named = readGroup(text, /`((?:src|test)\/[\w./-]+\.[a-z]+)`/g)
    const linked = readGroup(text, /\]\((?![a-z]+:|\/)([^)#\s]+\.md)(?:#[^)]*)?\)/g)
    const files = [...named, ...linked.map((link) => join(dirname(document), link))]
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})

test('ONCALL.md shows lines that watch prints', () => {
  const tokens = { route: '/api/v3/partners/auth', requests: '312', failures: '0' }
  const findings = [
    ['availability', alerts.availability.evaluate([{ ...tokens, recent_requests: '9', recent_failures: '0' }])],
    ['stale-lists', alerts['stale-lists'].evaluate([{ tier: 'kv', lists: '9', oldest_seconds: '431' }])],
  ] as const
  const lines = findings.flatMap(([name, found]) =>
    [found].flat().map(({ level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`),
  )
  expect(read('src/worker/ONCALL.md')).toContain(`\n\`\`\`\n${lines.join('')}\`\`\`\n`)
})

test('the published pattern of client secrets is the one that finds them', () => {
  const guide = read('src/site/pages/tokens.md')
  const [rule] = readGroup(guide, /^regex = '''(.*)'''$/gm)
  expect(rule).toBe(clientSecretPattern)
  // gitleaks applies a rule only to texts that have one of its keywords.
  const [keyword = '-'] = readGroup(guide, /^keywords = \["(.*)"\]$/gm)
  expect(clientSecretPattern.startsWith(keyword)).toBe(true)
})

test('ONCALL.md runs the query of each alert', () => {
  const page = read('src/worker/ONCALL.md')
  const queries = readGroup(page, /^ {4}for name in (.*); do .* watch --query \$name /gm).flatMap((names) =>
    names.split(' '),
  )
  expect(queries).toEqual(expect.arrayContaining(Object.keys(alerts)))
})

test('workflows run scripts that exist, and pin actions to a commit', () => {
  const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map(read)
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const runs = workflows.flatMap((text) => readGroup(text, /\bnpm run ([\w:]+)/g))
  expect(runs.filter((name) => !(name in scripts))).toEqual([])
  expect(runs).toContain('deploy')
  const actions = workflows.flatMap((text) => readGroup(text, /\buses: (\S+)/g))
  expect(actions.filter((action) => !/^\.\/|@[0-9a-f]{40}$/.test(action))).toEqual([])
})

test('what GitHub starts by itself needs no account, or runs only where the repository says so', () => {
  const files = globSync('.github/workflows/*.yml', { cwd: root })
  const needsAccount = files.filter((file) => {
    const [, on = ''] = /^on:\n((?: .*\n)+)/m.exec(read(file)) ?? []
    const isAutomatic = readGroup(on, /^ {2}(\w+):/gm).some((event) => !/^workflow_(call|dispatch)$/.test(event))
    return isAutomatic && read(file).includes('secrets.')
  })
  expect(needsAccount.map((file) => basename(file)).toSorted()).toEqual(['nightly.yml', 'watch.yml'])
  for (const file of needsAccount) {
    const [, ...jobs] = (read(file).split(/^jobs:\n/m)[1] ?? '').split(/^ {2}(?=\w)/m)
    expect(jobs).not.toEqual([])
    for (const job of jobs) expect(job).toMatch(/^ {4}if: .* && vars\.PRODUCTION_WATCH == 'on'$/m)
  }
  expect(read('src/worker/DEPLOY.md')).toContain('`PRODUCTION_WATCH` of the repository')
})

test('nightly looks up the copy under the key that it saved it with, and fails when it is not there', () => {
  const steps = read('.github/workflows/nightly.yml').split(/^ {6}- /m)
  const saveIndex = steps.findIndex((step) => step.includes('uses: actions/cache/save@'))
  const [save = '', lookup = ''] = steps.slice(saveIndex)
  const readInputs = (step: string) =>
    Object.fromEntries([...step.matchAll(/^ {10}(\S+): (.+)$/gm)].map((line) => line.slice(1)))
  expect(readInputs(save)).toEqual({ path: expect.any(String) as string, key: expect.any(String) as string })
  expect(lookup).toContain('uses: actions/cache/restore@')
  expect(readInputs(lookup)).toEqual({ ...readInputs(save), 'lookup-only': 'true', 'fail-on-cache-miss': 'true' })
})

function readGroup(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap(([, found]) => found ?? [])
}
