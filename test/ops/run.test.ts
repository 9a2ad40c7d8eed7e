import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { runOps } from '../../src/ops/run.ts'
import { withStore } from '../../src/ops/open-store.ts'
import { ops, state, useLocalState } from '../support/ops.ts'

useLocalState()

describe('a mistake on the command line is one line on stderr and exit code 2', () => {
  test.each([
    [['partner', 'list', '--jsn'], "Unknown option '--jsn' (Did you mean --json?). See: npm run -s ops -- --help\n"],
    [['partner', 'lst'], "Unknown command 'lst' (Did you mean list?). See: npm run -s ops -- --help\n"],
    [['catalog', 'import'], "Missing required argument 'file'. See: npm run -s ops -- --help\n"],
    [
      ['catalog', 'export', '--country', 'ke'],
      '--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".\n',
    ],
    [
      ['partner', 'list', '--persist-to', '/nowhere'],
      'There is no local database in /nowhere. Make one: npm run -s migrate -- --local --persist-to /nowhere\n',
    ],
  ])('%j', async (args, stderr) => {
    expect(await ops(args)).toEqual({ code: 2, stdout: '', stderr })
  })

  test.each([
    [
      'is not migrated',
      (folder: string) => mkdir(join(folder, 'v3/d1'), { recursive: true }),
      /^The local database in .* is not migrated\. Run: npm run -s migrate -- --local --persist-to .*\n$/,
    ],
    [
      'can’t be opened',
      (folder: string) =>
        mkdir(join(folder, 'v3/d1'), { recursive: true }).then(() => writeFile(join(folder, 'v3/kv'), '')),
      /^The local state in .* can't be used: .*\n$/,
    ],
  ])('also where the database %s', async (_, prepare, stderr) => {
    const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
    await prepare(folder)
    expect(await ops(['partner', 'list', '--persist-to', folder])).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(stderr),
    })
    await rm(folder, { recursive: true })
  })
})

test('a database that another program holds is a mistake, too', async () => {
  const folder = join(state, 'v3/d1/miniflare-D1DatabaseObject')
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sqlite'))
  const holders = names.map((name) => new DatabaseSync(join(folder, name)))
  for (const holder of holders) holder.exec('begin exclusive')
  // A store of its own: what the tests share is open already.
  const result = await ops(['partner', 'list', '--persist-to', `${state}/.`])
  for (const holder of holders) holder.close()
  expect(result).toEqual({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^The local state in .* can't be used: another program holds it, .*\n$/) as string,
  })
})

describe('as a program', () => {
  const main = join(import.meta.dirname, '../../src/ops/main.ts')
  const run = (command: string, env: Record<string, string> = {}) =>
    spawnSync('bash', ['-c', command], { encoding: 'utf8', env: { ...process.env, ...env } })
  const program = `"${process.execPath}" "${main}"`

  test.each([
    ['--help', 0],
    ['partner lst', 2],
    [`partner list --persist-to ${state}`, 0],
  ])('%s ends with its exit code', (args, status) => {
    expect(run(`${program} ${args}`).status).toBe(status)
  })

  test('a home folder that can’t be written is no obstacle', () => {
    const { status, stderr } = run(`${program} partner list --persist-to ${state}`, { HOME: '/dev/null/home' })
    expect([status, stderr]).toEqual([0, expect.not.stringMatching(/error|bug/i)])
  })

  test('a reader that stops early is no error, and a secret that nobody got is', () => {
    expect(run(`${program} --help | head -1; exit \${PIPESTATUS[0]}`).status).toBe(0)
    const create = `partner create --short-name full --name Full --country KE --json --persist-to ${state}`
    const { status, stderr } = run(`${program} ${create} > /dev/full`)
    expect([status, stderr]).toEqual([
      2,
      'Not all of the output could be written (ENOSPC). A secret in it is lost: rotate it.\n',
    ])
  })

  test('a flag that npm kept for itself is not left out in silence', () => {
    const { status, stderr } = run(`${program} catalog import x.json`, { npm_config_dry_run: 'true' })
    expect([status, stderr]).toEqual([
      2,
      'npm kept --dry-run for itself. Write: npm run -s ops -- …, with -- before the command.\n',
    ])
  })
})

test('control characters that an argument brings along are shown, not acted on', async () => {
  const { stderr } = await ops(['partner', 'show', '\u001b[31mred', '--persist-to', state])
  expect(stderr).not.toContain('\u001b')
  expect((await ops(['partner', '\u001b[31mred'])).stderr).toMatch(/^Unknown command '\\u001b\[31mred'/)
})

test('a bug is exit code 1, and says so', async () => {
  const stdout = {
    write: () => {
      throw new Error('unexpected')
    },
  }
  let stderr = ''
  const collected = { write: (text: string) => (stderr += text) }
  const io = { stdin: process.stdin, stdout, stderr: collected, withStore, patienceMs: Infinity }
  expect(await runOps(['partner', 'list', '--json', '--persist-to', state], io)).toBe(1)
  expect(stderr).toMatch(/^A bug: Error: unexpected\n/)
})

const commands = {
  partner: ['create', 'list', 'show', 'rotate', 'suspend', 'resume', 'set-country'],
  catalog: ['import', 'export', 'purge'],
  plan: ['list', 'show', 'view', 'close', 'open', 'why'],
  keys: ['rotate', 'list', 'drop'],
}

test.each(Object.entries(commands).flatMap(([noun, verbs]) => verbs.map((verb) => [noun, verb])))(
  'ops %s %s --help shows an example',
  async (noun, verb) => {
    const { code, stdout, stderr } = await ops([noun, verb, '--help'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      new RegExp(`^Usage: ops ${noun} ${verb} .*Example:\n  npm run -s ops -- ${noun} ${verb} ?`, 's'),
    )
  },
)

test.each([[], ...Object.keys(commands).map((noun) => [noun])])('help for %j lists what there is', async (...nouns) => {
  const { code, stdout } = await ops([...nouns, '--help'])
  const listed = [...stdout.matchAll(/^ {2}([a-z-]+)(?: \[|  )/gm)].map(([, name]) => name)
  expect([code, listed]).toEqual([
    0,
    [
      ...(nouns[0] ? (Object.entries(commands).find(([noun]) => noun === nouns[0])?.[1] ?? []) : Object.keys(commands)),
      'help',
    ],
  ])
})
