// The command line as a program: a process of its own, on a local state.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { runFile } from '../support/run-file.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { useLocalState } from './support/local-state.ts'

const state = useLocalState()
const program = `"${process.execPath}" "${join(import.meta.dirname, '../../src/ops/main.mjs')}"`
const run = (command: string, env: Record<string, string> = {}) =>
  spawnSync('bash', ['-c', command], { encoding: 'utf8', env: { ...process.env, ...env } })

test.each([
  ['--help', 0],
  ['partner lst', 2],
  ['partner list --persist-to /nowhere', 2],
  [`partner list --persist-to ${state}`, 0],
])('%s ends with exit code %i', (args, status) => {
  expect(run(`${program} ${args}`).status).toBe(status)
})

test.each([
  ['--help', 0, '\nExample:\n  npm run dev -- --port 9000 --persist-to /tmp/state\n'],
  ['--env staging', 2, 'npm run dev serves the top level of wrangler.toml: leave --env out.\n'],
])('npm run dev -- %s ends with exit code %i, and starts nothing', (args, status, said) => {
  const dev = run(`npm run -s dev -- ${args}`)
  expect(dev.status).toBe(status)
  expect(dev.stdout + dev.stderr).toContain(said)
})

test('npm run migrate refuses a flag that it would not use', () => {
  const { status, stderr } = run('npm run -s migrate -- --preview')
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'Without --remote, migrate takes only --local and --persist-to.\n',
  })
})

test('npm run migrate without credentials names them', () => {
  const env = { CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_ACCOUNT_ID: '' }
  const { status, stdout, stderr } = run('npm run -s migrate -- --remote --env staging', env)
  expect({ status, stdout, stderr }).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/CLOUDFLARE_ACCOUNT_ID.*\n.*CLOUDFLARE_API_TOKEN/),
  })
})

test('several first starts at once succeed', async () => {
  const fresh = join(await createFolder(), 'state')
  const migrate = () => runFile('npm', ['run', '-s', 'migrate', '--', '--local', '--persist-to', fresh])
  const said = (await Promise.all([migrate(), migrate(), migrate()])).map(({ stdout }) => stdout)
  expect(said.toSorted().at(-1)).toBe('Nothing to migrate.\n')
  expect(said.filter((line) => line.startsWith('Applied 0001_record.sql'))).toHaveLength(1)
})

test('wrangler finds the migrations applied', async () => {
  const args = ['d1', 'migrations', 'list', 'DB', '--local', '--env', '', '--persist-to', state]
  const { stdout } = await runFile('wrangler', args, { env: { ...process.env, WRANGLER_LOG: 'log' } })
  expect(stdout).toContain('No migrations to apply')
})

test('a home folder that can’t be written is no obstacle', () => {
  const { status, stderr } = run(`${program} partner list --persist-to ${state}`, { HOME: '/dev/null/home' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringMatching(/error|bug/i) })
})

describe('output that can’t be written', () => {
  const made = 'The change was made; its output could not be written.\n'
  const create = (name: string) =>
    `${program} partner create --short-name ${name} --name X --country KE --json --persist-to ${state}`
  /** The reader has ended before the program starts. */
  const runClosed = (command: string) => run(`exec 3> >(exit); wait $!; ${command} >&3`)

  test.each(['--help', `partner list --persist-to ${state}`])(
    'of %s is no error when the reader stops early',
    (args) => {
      const { status, stderr } = runClosed(`${program} ${args}`)
      expect({ status, stderr }).toEqual({ status: 0, stderr: expect.not.stringContaining('output') })
    },
  )

  test('of a read is an error', () => {
    const { status, stderr } = run(`${program} --help > /dev/full`)
    expect({ status, stderr }).toEqual({ status: 2, stderr: 'The output is incomplete (ENOSPC).\n' })
  })

  test.each([
    ['full', 2, (command: string) => run(`${command} > /dev/full`)],
    ['closed', 0, runClosed],
  ])('of a change says that the change was made, and how to replace a lost secret: %s', (name, exit, runUnseen) => {
    const on = `--persist-to ${state}`
    for (const command of [create(name), `${program} partner rotate ${name} ${on}`]) {
      const { status, stderr } = runUnseen(command)
      expect({ status, stderr }).toEqual({ status: exit, stderr: expect.stringContaining(made) })
      const [, another = ''] = /npm run -s ops -- (partner rotate .*)/.exec(stderr) ?? []
      expect(JSON.parse(run(`${program} ${another} --json`).stdout)).toMatchObject({ shortName: name })
    }
    const suspend = `${program} partner suspend ${name} ${on}`
    expect(runUnseen(suspend).stderr).toContain(made)
    expect(runUnseen(suspend).stderr).not.toContain(made)
  })
})
