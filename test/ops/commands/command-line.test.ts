import { describe, expect, test } from 'vitest'
import { generateClientSecret } from '../../../src/crypto/client-secret.ts'
import { generateKey } from '../../../src/crypto/signing-keys.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { ConfigError } from '../../../src/api/config.ts'
import { commands } from '../../../src/ops/commands/ops.ts'
import { listFlags } from '../../../src/ops/commands/frame/shared-flags.ts'
import { toKebabCase } from '../../../src/ops/commands/frame/verb.ts'
import { prefixWithNpm } from '../../../src/ops/shared/target.ts'
import { listVerbs, refused, runCommand } from '../support/run-ops.ts'

const failWith = (error: Error) => ({ withStore: () => Promise.reject(error) })

describe('a mistake on the command line is one line on stderr and exit code 2', () => {
  test.each([
    [
      ['partner', 'list', '--jsn'],
      "Unknown option '--jsn' (Did you mean --json?).\nSee: npm run -s ops -- partner list --help",
    ],
    [['partner', 'lst'], "Unknown command 'lst' (Did you mean list?).\nSee: npm run -s ops -- partner --help"],
    [['partnr', 'list'], "Unknown command 'partnr' (Did you mean partner?).\nSee: npm run -s ops -- --help"],
    [['catalog', 'import'], "Missing required argument 'file'.\nSee: npm run -s ops -- catalog import --help"],
    // npm kept the flag --country for itself, and passed its value on.
    [
      ['catalog', 'export', 'KE'],
      "Too many arguments for 'export'. Expected 0 arguments but got 1: KE.\nSee: npm run -s ops -- catalog export --help",
    ],
    [['catalog', 'undo', 'abc'], 'The number of a publication is a whole number, such as 12; it is "abc".'],
    [
      ['plan', 'list', '--country', 'KE', '--country', 'RW'],
      "Option '--country <code>' can be given only once.\nSee: npm run -s ops -- plan list --help",
    ],
    [
      ['watch', '--query', 'traffic', '--query', 'partners'],
      "Option '--query <name>' can be given only once.\nSee: npm run -s ops -- watch --help",
    ],
    [['partner', 'list', '--env', 'staging'], '--env names a deployed environment: add --remote.'],
    [['partner', 'list', '--remote'], '--remote needs an environment: add --env, such as --env staging.'],
    [
      ['partner', 'list', '--remote', '--env', 'staging', '--persist-to', 'x'],
      "Option '--persist-to <dir>' cannot be used with option '--remote'.\nSee: npm run -s ops -- partner list --help",
    ],
  ])('%j', async (args, stderr) => {
    const result = await runCommand(args, failWith(new Error('the store was opened')))
    expect(result).toEqual(refused(`${stderr}\n`))
  })
})

describe('a text for the record', () => {
  const secret = generateClientSecret()
  const key = `aB${generateKey().slice(2)}`
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.x'
  const run = (args: string[], actor = 'amina@example.com') =>
    runCommand(args, { ...failWith(new UserError('recorded')), findActor: async () => actor })

  test.each([
    ['a client secret', ['partner', 'suspend', 'acme', '--note', `Found:\n${secret}.`]],
    ['a client secret', ['partner', 'suspend', 'acme', `--note=${btoa(`acme:${secret}`)}`]],
    ['an access token', ['catalog', 'approve', '12', '--note', `Bearer ${token}`]],
    ['an access token', ['plan', 'close', 'gold', '--public-note', token]],
    ['a signing key', ['keys', 'rotate', '--note', `JWT_KEY_1795154400=${key}`]],
    ['what may be a signing key', ['keys', 'rotate', '--note', key]],
    ['a client secret', ['catalog', 'cancel', '12', '--as', secret]],
    ['a client secret', ['partner', 'set', 'acme', `name=${secret}`]],
    ['a client secret', ['partner', 'set', 'acme', `contact=amina@acme.example ${secret}`]],
    ['a client secret', ['catalog', 'import', `/tmp/${secret}.json`]],
  ])('is refused with %s (%#)', async (kind, args) => {
    const { code, stdout, stderr } = await run(args)
    expect({ code, stdout, lines: stderr.split('\n').length }).toEqual({ code: 2, stdout: '', lines: 3 })
    expect(stderr).toMatch(new RegExp(`^The database would keep ${kind}: .*\\nNothing was changed\\.\\n$`))
    for (const one of [secret, key, token]) expect(stderr).not.toContain(one)
  })

  test('is refused, too, when the environment names the actor', async () => {
    expect((await run(['keys', 'rotate'], secret)).stderr).toContain('a client secret')
  })

  test('may name a key, and an address', async () => {
    const note = `JWT_KEY_1795154400 leaked: https://example.com/${key}`
    expect((await run(['keys', 'rotate', '--note', note])).stderr).toBe('recorded\nNothing was changed.\n')
  })
})

test.each([
  ['of the user', new UserError(['first', 'second']), 'first\nsecond\n'],
  ['in the configuration', new ConfigError('JWT_KEY_1 is wrong.'), 'JWT_KEY_1 is wrong.\n'],
])('a mistake %s is exit code 2', async (_, error, stderr) => {
  expect(await runCommand(['partner', 'list'], failWith(error))).toEqual(refused(stderr))
})

test('a bug is exit code 1, with its stack', async () => {
  const { code, stdout, stderr } = await runCommand(['partner', 'list'], failWith(new Error('unexpected')))
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^A bug: Error: unexpected\n +at /)
})

test('an error is red on a terminal with colors, but not the data in it', async () => {
  const error = failWith(new UserError('no plan \u001b[0m\u001b[2J'))
  const { stderr } = await runCommand(['partner', 'list'], error, { hasColors: true })
  expect(stderr).toBe('\u001b[31mno plan \\u001b[0m\\u001b[2J\u001b[39m\n')
})

test('control characters in an argument are escaped, so that a terminal does not act on them', async () => {
  const { stderr } = await runCommand(['partner', 'list'], failWith(new UserError('no \u001b[31mred\nnext')))
  expect(stderr).toBe('no \\u001b[31mred\nnext\n')
  expect((await runCommand(['partner', '\u001b[31mred'])).stderr).toMatch(/^Unknown command '\\u001b\[31mred'/)
})

test.each([
  [{ npm_config_grace: '0' }, '--grace'],
  [{ npm_config_persist_to: '/tmp/x', npm_config_yes: 'true' }, '--yes and --persist-to'],
])('%j, which npm sets for a flag before the --, is refused', async (variables, flags) => {
  expect(
    await runCommand(['partner', 'rotate', 'acme', '24h'], {
      ...failWith(new Error('the store was opened')),
      variables,
    }),
  ).toEqual(
    refused(
      `npm kept ${flags} for itself, or has it from .npmrc.
If you typed ${flags}, write -- before the command, or '--' in PowerShell: npm run -s ops -- …
If you did not type ${flags}, delete the setting from .npmrc. To find this file: npm config list
`,
    ),
  )
})

test.each<[string, Record<string, string>]>([
  // npm sets it by itself.
  ['partner rotate acme', { npm_config_yes: '' }],
  ['partner list', { npm_config_json: 'false', npm_config_env: 'false' }],
  ['partner list', { npm_config_force: 'true', npm_config_grace: '0' }],
  ['partner list --json', { npm_config_json: 'true' }],
])('%s is not refused when npm sets %j', async (words, variables) => {
  const context = { ...failWith(new UserError('opened')), variables }
  expect(await runCommand(words.split(' '), context)).toEqual(refused(expect.stringMatching(/^opened\n/)))
})

test.each(await listVerbs())('ops %s --help shows its example and its flags', async (words, verb) => {
  const { code, stdout, stderr } = await runCommand([...words.split(' '), '--help'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.startsWith(`Usage: ops ${words} `)).toBe(true)
  expect(stdout).toContain(`\nExample:\n  ${prefixWithNpm(verb.example)}\n`)
  for (const flag of Object.keys(listFlags(verb))) expect(stdout).toContain(`  --${toKebabCase(flag)}`)
})

const nouns = Object.entries(commands).flatMap(([noun, entry]) =>
  'loadVerbs' in entry ? [[noun, entry] as const] : [],
)

test.each(nouns)('ops %s --help lists its commands', async (noun, { loadVerbs }) => {
  const { code, stdout } = await runCommand([noun, '--help'])
  expect({ code, listed: readListed(stdout) }).toEqual({
    code: 0,
    listed: Object.keys(await loadVerbs()).map(toKebabCase),
  })
})

test('ops --help lists daily work, and with --all what runs the service, too', async () => {
  const { code, stdout } = await runCommand(['--help'])
  const daily = ['partner', 'catalog', 'plan', 'why', 'log']
  expect({ code, listed: readListed(stdout) }).toEqual({ code: 0, listed: daily })
  expect(stdout).toContain('\nRun it as: npm run -s ops -- <noun> <verb> [flags]\n')
  for (const first of ['partner create ', 'catalog import plans.json --dry-run\n', 'why acme ID']) {
    expect(stdout).toContain(`\n  npm run -s ops -- ${first}`)
  }
  const all = await runCommand(['--help', '--all'])
  const [start = '', rest = ''] = all.stdout.split('\nRunning the service:\n')
  expect({ code: all.code, daily: readListed(start), service: readListed(rest) }).toEqual({
    code: 0,
    daily: daily,
    service: ['doctor', 'watch', 'keys', 'copy', 'compare', 'invalidate', 'migrate', 'deploy', 'smoke', 'dev'],
  })
})

function readListed(help: string): (string | undefined)[] {
  return [...help.matchAll(/^ {2}([a-z-]+)(?: \[| <|  )/gm)].map(([, name]) => name)
}
