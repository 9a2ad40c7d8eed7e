import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { printed, readTable, refused, runCommand, type Terminal } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useMemoryBindings()
beforeEach(async () => {
  await emptyDatabase(bindings())
  await publishPlans(openDatabase(bindings().DB), [makePlan({ viewableIn: ['KE', 'UG'] })])
})
afterEach(() => {
  vi.useRealTimers()
})

const partner = (args: string[], terminal: Terminal = {}) =>
  runCommand(
    ['partner', ...args],
    { withStore: (target, work) => work(openBindingStore(bindings(), target)) },
    terminal,
  )
const create = (shortName: string, ...rest: string[]) =>
  partner(['create', '--short-name', shortName, '--name', 'Acme "Wallet"', '--country', 'KE', ...rest])
const readJson = async (args: string[]): Promise<unknown> => JSON.parse((await partner([...args, '--json'])).stdout)

const clientId = expect.stringMatching(/^\w{16}$/) as string
const clientSecret = expect.stringMatching(/^pcs_\w{36}$/) as string
const credentials = { clientId, clientSecret, shortName: 'acme', country: 'KE' }
const credentialsTable = expect.stringMatching(/^SHORT NAME .*\nacme {8}KE {7}\w{16} {2}pcs_\w{36}\n$/) as string
const onlyOnce = 'The secret is shown only this once: only its hash is stored.\n'
const remote = ['--remote', '--env', 'staging']
const noTerminal = 'There is no terminal to ask: add --yes to go ahead. Nothing was changed.'
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string
const shown = {
  shortName: 'acme',
  name: 'Acme "Wallet"',
  country: 'KE',
  clientId,
  status: 'active',
  createdAt: time,
  suspendedAt: null,
  closedAt: null,
  tokensValidFrom: null,
  contact: null,
}

describe('partner create', () => {
  test('prints a table with the credentials', async () => {
    expect(await create('acme')).toEqual({ code: 0, stdout: credentialsTable, stderr: onlyOnce })
  })

  test('prints one line for each mistake, and leaves out control characters', async () => {
    const { code, stdout, stderr } = await partner(['create', '--short-name', 'a', '--name', 'red\u001b[31m'])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^The short name must .*"a"\.\nThe name must .*\.\nThe country must .*""\.\n$/)
    expect(stderr).not.toContain('\u001b')
  })

  test('warns when no plan is viewable in the country', async () => {
    expect(await partner(['create', '--short-name', 'acme', '--name', 'Acme', '--country', 'FR'])).toMatchObject({
      code: 0,
      stderr: `${onlyOnce}No plan is viewable in FR: the list of acme is empty.\n`,
    })
  })

  test('names a command on the same target', async () => {
    await create('acme')
    const stderr =
      'The short name acme is taken. Choose another, or see: npm run -s ops -- partner list --persist-to /tmp/x\n'
    expect(await create('acme', '--persist-to', '/tmp/x')).toEqual(refused(stderr))
  })
})

test('partner list prints a table, an array, or a note that there is none', async () => {
  expect(await partner(['list'])).toEqual({
    code: 0,
    stdout: '',
    stderr: 'There is no partner yet. To create one: npm run -s ops -- partner create --help\n',
  })
  expect(await readJson(['list'])).toEqual([])
  await create('acme')
  const { stdout } = await partner(['list'])
  expect(readTable(stdout)).toEqual([
    ['SHORT NAME', 'NAME', 'COUNTRY', 'CLIENT ID', 'STATUS', 'SECRETS'],
    ['acme', 'Acme "Wallet"', 'KE', clientId, 'active', '1, 0 min'],
    [''],
  ])
  expect(await readJson(['list'])).toEqual([{ ...shown, secretCount: 1, oldestSecretAt: time, isRotationDue: false }])
  await partner(['rotate', 'acme'])
  await bindings()
    .DB.prepare(`update change_record set secrets = json_set(secrets, '$[0].createdAt', unixepoch() - 50 * 3600)`)
    .run()
  expect((await partner(['list'])).stdout).toMatch(/ 2, 2 d\n$/)
  await partner(['close', 'acme'])
  expect((await partner(['list'])).stdout).toMatch(/ closed {2}0\n$/)
})

test('partner show prints everything but the secret', async () => {
  const [, secret = ''] = /(pcs_\w{36})\n$/.exec((await create('acme')).stdout) ?? []
  const { stdout } = await partner(['show', 'acme'])
  expect(stdout).toMatch(
    /^short name {2}acme\nname {8}Acme "Wallet"\ncountry {5}KE\nclient ID {3}\w{16}\nstatus {6}active\ncreated {5}(\S+Z)\nsecret {6}since \1\n$/,
  )
  expect(stdout).not.toMatch(new RegExp(`${secret}|pbkdf2`))
  expect(await readJson(['show', 'acme'])).toEqual({
    ...shown,
    secrets: [{ createdAt: time, expiresAt: null }],
  })
})

test.each(['create', 'rotate', 'lockdown'])(
  'partner %s prints an object for scripts, and nothing else',
  async (verb) => {
    if (verb !== 'create') await create('acme')
    const { code, stdout, stderr } =
      verb === 'create' ? await create('acme', '--json') : await partner([verb, 'acme', '--json'])
    expect([code, stderr]).toEqual([0, ''])
    const extras = { tokensValidFrom: time, message: expect.stringMatching(/^A client secret of your account acme /) }
    expect(JSON.parse(stdout)).toEqual({ ...credentials, ...(verb === 'lockdown' && extras) })
  },
)

describe('partner rotate', () => {
  beforeEach(() => create('acme'))

  test('prints the new secret, and how long the old one works', async () => {
    expect(await partner(['rotate', 'acme', '--grace', '2h'])).toEqual({
      code: 0,
      stdout: credentialsTable,
      stderr: `${onlyOnce}The old secret works for another 2h.\n`,
    })
    const secrets = /\nsecret {6}since \S+Z, rotated, works until (\S+Z)\nsecret {6}since (\S+Z)\n$/
    const [, until = '', since = ''] = secrets.exec((await partner(['show', 'acme'])).stdout) ?? []
    expect(Date.parse(until) - Date.parse(since)).toBe(2 * 3_600_000)
  })

  test.each(['1999-12-31', '2099-12-31'])(
    'lets the old secret work for the whole grace period, on a machine where it is %s',
    async (date) => {
      vi.useFakeTimers({ now: Date.parse(date), toFake: ['Date'] })
      await partner(['rotate', 'acme', '--grace', '24h'])
      const query = `select secrets ->> '$[0].expiresAt' - unixepoch() from change_record where kind = 'rotate'`
      const [[seconds] = []] = await bindings().DB.prepare(query).raw<[number]>()
      expect(seconds).toBeGreaterThan(86_400 - 60)
      expect(seconds).toBeLessThanOrEqual(86_400)
    },
  )

  test('replaces the newest secret, and says how long the older one works', async () => {
    await partner(['rotate', 'acme', '--grace', '2h'])
    const rotation = await partner(['rotate', 'acme', '--replace-newest'])
    const stderr = /\nThe lost secret is dead\. The older one works until \S+Z\.\n$/
    expect(rotation).toEqual({ code: 0, stdout: credentialsTable, stderr: expect.stringMatching(stderr) })
    const conflict = /^Option '--replace-newest' cannot be used with option '--grace <time>'\. /
    expect(await partner(['rotate', 'acme', '--replace-newest', '--grace', '2h'])).toEqual(
      refused(expect.stringMatching(conflict)),
    )
  })

  test('says that no earlier secret works without a grace period', async () => {
    expect((await partner(['rotate', 'acme', '--grace', '0'])).stderr).toContain(
      'No earlier secret works any more. Tokens work until they expire. To end them: npm run -s ops -- partner end-tokens acme\n',
    )
  })

  test.each(['', '1', '24', '1w', '-1h', '1.5h', '31d', '721h', '9999999d', '0w'])(
    'refuses --grace %j',
    async (grace) => {
      expect(await partner(['rotate', 'acme', `--grace=${grace}`])).toEqual(
        refused(`--grace must be 0 or a time of at most 30 days, such as 30m, 24h or 7d; it is "${grace}".\n`),
      )
    },
  )
})

describe('on a deployed environment', () => {
  beforeEach(() => create('acme'))

  test.each([
    [['rotate', '--grace', '0'], 'acme gets a new secret; all earlier ones stop working now.'],
    [['lockdown'], 'acme gets a new secret; all earlier ones, and all its tokens, end now.'],
    [['close'], 'acme will be closed for good, and its secrets deleted.'],
  ])('partner %j asks', async ([verb = '', ...flags], effect) => {
    const args = [verb, 'acme', ...flags, ...remote]
    const before = await readJson(['show', 'acme'])
    expect(await partner(args)).toEqual(refused(`[staging] ${effect} ${noTerminal}\n`))
    for (const stdin of ['n', '', 'yesterday']) {
      const question = `[staging] ${effect} Go ahead? [y/N] Nothing was changed.\n`
      expect(await partner(args, { stdin, isTTY: true })).toEqual(refused(question))
    }
    expect(await readJson(['show', 'acme'])).toEqual(before)
    expect((await partner(args, { stdin: 'y\n', isTTY: true })).code).toBe(0)
    expect((await partner([...args, '--yes'])).code).toBe(0)
  })
})

/** Runs commands one after the other. */
async function expectPrinted(commands: readonly (readonly [command: string, stdout: string])[]): Promise<void> {
  for (const [command, stdout] of commands) expect(await partner(command.split(' '))).toEqual(printed(`${stdout}\n`))
}

test('partner suspend, resume and set-country print the partner as it is now', async () => {
  await create('acme')
  const soon = 'Every data center knows it within 2 minutes.'
  await expectPrinted([
    ['suspend acme', `acme is now suspended, with the plans of KE. ${soon}`],
    ['suspend acme', 'acme already is suspended, with the plans of KE.'],
    ['set-country acme UG', 'acme now lists the plans of UG, everywhere within 2 minutes. It is still suspended.'],
    ['resume acme', `acme is now active, with the plans of UG. ${soon}`],
    ['set-country acme UG', 'acme already lists the plans of UG.'],
  ])
  const suspended = { ...shown, country: 'UG', status: 'suspended', suspendedAt: time }
  expect(await readJson(['suspend', 'acme'])).toEqual(suspended)
  expect((await partner(['show', 'acme'])).stdout).toMatch(/\nstatus {6}suspended since \S+Z\n/)
  expect(await readJson(['resume', 'acme'])).toEqual({ ...shown, country: 'UG' })
  expect(await readJson(['set-country', 'acme', 'KE'])).toEqual(shown)
})

test('partner show prints the contact', async () => {
  await create('acme')
  await partner(['set-contact', 'acme', 'amina@acme.example'])
  expect((await partner(['show', 'acme'])).stdout).toMatch(/\ncontact {5}amina@acme\.example\n/)
  expect(await readJson(['show', 'acme'])).toMatchObject({ contact: 'amina@acme.example' })
})

test('partner set-country warns when no plan is viewable in the new country', async () => {
  await create('acme')
  expect(await partner(['set-country', 'acme', 'FR'])).toEqual({
    code: 0,
    stdout: 'acme now lists the plans of FR, everywhere within 2 minutes.\n',
    stderr: 'No plan is viewable in FR: the list of acme is empty.\n',
  })
})

test('partner rename, set-contact and close print the partner as it is now', async () => {
  await create('acme')
  expect(await partner(['rename', 'acme', 'Acme Pay'])).toEqual(printed('acme is now named Acme Pay.\n'))
  expect(await partner(['rename', 'acme', 'Acme Pay'])).toEqual(printed('acme already is named Acme Pay.\n'))
  await expectPrinted([
    ['set-contact acme amina@acme.example', 'acme now has the contact amina@acme.example.'],
    ['set-contact acme --remove', 'acme now has no contact.'],
    ['close acme', 'acme is now closed, for good.'],
  ])
  const sentence = expect.stringMatching(
    /^acme was closed at \S+Z, for good: its secrets and tokens have ended\. To onboard it again, create it under another short name: npm run -s ops -- partner create --help/,
  ) as string
  expect(await partner(['close', 'acme'])).toEqual(printed(sentence))
  const before = await readJson(['show', 'acme'])
  for (const verb of ['rotate', 'lockdown', 'end-tokens', 'suspend', 'resume']) {
    expect(await partner([verb, 'acme'])).toEqual(refused(sentence))
    // Before the question.
    expect(await partner([verb, 'acme', ...remote])).toEqual(refused(expect.stringMatching(/^acme was closed /)))
  }
  expect(await readJson(['show', 'acme'])).toEqual(before)
  const closed = { name: 'Acme Pay', status: 'closed', suspendedAt: time, closedAt: time }
  expect(await readJson(['close', 'acme'])).toEqual({ ...shown, ...closed })
  expect((await partner(['show', 'acme'])).stdout).toMatch(/\nstatus {6}closed since \S+Z\ncreated {5}\S+Z\n$/)
})

test.each([
  ['set-contact', 'acme'],
  ['set-contact', 'acme', 'x', '--remove'],
])('partner %s %s %s is refused', async (...args) => {
  expect(await partner(args)).toEqual(refused('Name the contact, or add --remove to delete it.\n'))
})

test('partner end-tokens says from when tokens are valid, and partner show and log show it', async () => {
  await create('acme')
  const { code, stdout, stderr } = await partner(['end-tokens', 'acme'])
  expect([code, stderr]).toEqual([0, ''])
  const [, validFrom] =
    /^Tokens of acme from before (\S+Z) are refused everywhere within 2 minutes\. Later ones work at once\.\n$/.exec(
      stdout,
    ) ?? []
  expect((await partner(['show', 'acme'])).stdout).toMatch(`\ntokens valid from  ${validFrom}\n`)
  expect(await readJson(['show', 'acme'])).toMatchObject({ tokensValidFrom: validFrom })
  expect((await partner(['log', 'acme'])).stdout).toMatch(/ acme +end-tokens .* KE +active /)
  expect(await readJson(['end-tokens', 'acme'])).toEqual({ ...shown, tokensValidFrom: time })
  await partner(['suspend', 'acme'])
  expect((await partner(['end-tokens', 'acme'])).stdout).toMatch(
    / within 2 minutes\. It is still suspended: it gets no token\.\n$/,
  )
})

describe('partner lockdown', () => {
  const suspended = 'Your account is suspended: the new secret gets no access token until we end the suspension.'
  const describeLockdown = (
    validFrom: string,
    id: string,
    next: string,
  ) => `A client secret of your account acme (client ID ${id}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${validFrom} are refused with 401 invalid_token, everywhere within 2 minutes.
- You get a new client secret from us separately. Put it in place of the old one now. ${next}
Your client ID stays the same. Remove the old secret from every place where others could read it.
`

  test('prints the new secret, and the text for the partner without it', async () => {
    await create('acme')
    await partner(['rotate', 'acme'])
    await partner(['suspend', 'acme'])
    const { code, stdout, stderr } = await partner(['lockdown', 'acme', '--note', 'Secret on GitHub.'])
    expect(code).toBe(0)
    const [, id = '', secret = ''] = /\nacme +KE +(\w{16}) {2}(\w+)\n$/.exec(stdout) ?? []
    const { tokensValidFrom, secrets } = (await readJson(['show', 'acme'])) as {
      tokensValidFrom: string
      secrets: object[]
    }
    expect(secrets).toHaveLength(1)
    expect(stderr).toBe(
      `${onlyOnce}acme is still suspended: it gets no token.\nSend this to acme, and the secret separately, over a channel that you trust:\n\n${describeLockdown(tokensValidFrom, id, suspended)}`,
    )
    expect(secret).not.toBe('')
    expect(stderr).not.toContain(secret)
    expect((await partner(['log', 'acme'])).stdout).toMatch(/ lockdown .* Secret on GitHub\.\n/)
  })

  test('tells a partner that is not suspended to request a token', async () => {
    await create('acme')
    const made = JSON.parse((await partner(['lockdown', 'acme', '--json'])).stdout) as Record<string, string>
    const { tokensValidFrom = '', clientId: id = '', message } = made
    expect(message).toBe(describeLockdown(tokensValidFrom, id, 'Then request a new access token.'))
  })
})

describe('partner identify', () => {
  const identify = (stdin: string | Uint8Array, args: string[] = [], isTTY = false) =>
    partner(['identify', ...args], { stdin, isTTY })
  const createSecret = async (shortName: string) => {
    const { stdout } = await create(shortName, '--json')
    return (JSON.parse(stdout) as { clientSecret: string }).clientSecret
  }

  test('names the owner of a live secret, and the command that ends it', async () => {
    await create('boda')
    const secret = await createSecret('acme')
    await partner(['rotate', 'acme', '--grace', '2h'])
    const { code, stdout, stderr } = await identify(`${secret}\n`, remote)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^short name {4}acme\nname {10}Acme "Wallet"\nclient ID {5}\w{16}\nstatus {8}active\nsecret {8}since \S+Z, rotated, works until \S+Z\nif it leaked {2}npm run -s ops -- partner lockdown acme --remote --env staging\n$/,
    )
    const json = await identify(secret, ['--json'])
    expect(JSON.parse(json.stdout)).toEqual({
      shortName: 'acme',
      name: 'Acme "Wallet"',
      clientId,
      status: 'active',
      secret: { createdAt: time, expiresAt: time },
      command: 'npm run -s ops -- partner lockdown acme',
    })
    for (const text of [stdout, json.stdout]) expect(text).not.toContain(secret)
  })

  test('finds it in any text, and in the encodings of shells', async () => {
    const secret = await createSecret('acme')
    const texts = [
      `\ufeff${secret}\r\n`,
      Buffer.from(`\ufeff${secret}\r\n`, 'utf16le'),
      Buffer.from(`CLIENT_SECRET='${secret}'`, 'utf16le'),
      Buffer.concat([Buffer.of(0xff, 0xe9, 0x80), Buffer.from(secret)]),
      `# pcs_${'a'.repeat(36)}\nexport ACME_${secret}_OLD && curl -d 'client_secret%3D${secret}'\n`,
    ]
    for (const text of texts) {
      const { code, stdout, stderr } = await identify(text)
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/^short name {4}acme\n/)
    }
  })

  test('takes one secret at a time', async () => {
    const [one, two] = [await createSecret('acme'), await createSecret('boda')]
    expect(await identify(`${one}\n${two}\n`)).toEqual(
      refused('This text has several secrets. Pass each of them alone.\n'),
    )
  })

  test('finds the secret in a Basic header, and knows an access token', async () => {
    const secret = await createSecret('acme')
    for (const sent of [secret, secret.replace('_', '%5F')]) {
      const header = `Authorization: Basic ${btoa(`AAAAAAAAAAAAAAAA:${sent}`)}`
      expect((await identify(header)).stdout).toMatch(/^short name {4}acme\n/)
    }
    expect((await identify('Bearer eyJhbGciOiJIUzI1NiJ9.eyJwIjoxfQ.abc-_')).stderr).toMatch(
      /^This looks like an access token/,
    )
  })

  test('says that no live secret matches', async () => {
    const secret = await createSecret('acme')
    await partner(['lockdown', 'acme'])
    const refusal = (where: string) =>
      refused(`No live secret of ${where} matches: it has ended, or is of another environment.\n`)
    expect(await identify(secret)).toEqual(refusal('the local state'))
    expect(await identify(secret, ['--remote', '--env', 'staging'])).toEqual(refusal('[env.staging]'))
  })

  test.each(['pcs_ExampleOnlyNotASecretOfAnybody4Bi5Y4', 'CLIENT_SECRET=x', '\u001b[31m'])(
    'says at once that %j is no secret of this service, and does not print it',
    async (text) => {
      const withStore = () => Promise.reject(new Error('the store is not needed'))
      expect(await runCommand(['partner', 'identify'], { withStore }, { stdin: text })).toEqual(
        refused(
          'This is no secret of this service: a secret is pcs_ and 36 letters and digits, with the right checksum.\n',
        ),
      )
    },
  )

  test.each([
    ['', false],
    [' \r\n', false],
    ['pcs_x', true],
  ])('refuses %j as the input (a terminal, which would show it: %s)', async (stdin, isTTY) => {
    expect(await identify(stdin, [], isTTY)).toEqual(
      refused(
        'There is no secret on standard input. Pass it in a file that only you can read, or through a pipe: npm run -s ops -- partner identify < FILE\n',
      ),
    )
  })

  test.each([['pcs_x'], ['--secret=pcs_x'], ['--json=pcs_x'], ['-s', 'pcs_x']])(
    'refuses a secret as an argument, and does not print it: %s',
    async (...args) => {
      expect(await identify('', args)).toEqual(
        refused(
          'Never pass a secret as an argument: process lists and the history of your shell show it. It is read from standard input.\n',
        ),
      )
    },
  )
})
