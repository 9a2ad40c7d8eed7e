// What the transcript of partners does not show.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CommandContext } from '../../../../src/ops/commands/frame/command-context.ts'
import { generateClientSecret } from '../../../../src/crypto/client-secret.ts'
import { generateKey } from '../../../../src/crypto/signing-keys.ts'
import type { Credentials } from '../../../../src/ops/core/partners/partner-accounts.ts'
import { UserError } from '../../../../src/ops/shared/user-error.ts'
import { failWith, interceptD1 } from '../../../support/unreliable-stores.ts'
import { openStores } from '../../support/binding-store.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'
import { createMemorySecrets } from '../../support/memory-secrets.ts'
import { readTable, refused, runCommand, type Terminal } from '../../support/run-ops.ts'
import { emptyDatabase } from '../../support/test-database.ts'

const bindings = useMemoryBindings()
beforeEach(() => emptyDatabase(bindings()))
afterEach(() => void vi.useRealTimers())

const noOrigin = () => Promise.reject(new Error('no address'))
const withStore = openStores(bindings)
/** A database in place of the test's own. */
const openOn = (DB: D1Database) => openStores(() => ({ ...bindings(), DB }))
const partner = (args: string[], terminal: Terminal = {}) =>
  runCommand(['partner', ...args], { requireOrigin: noOrigin, withStore }, terminal)
const create = (shortName: string, ...rest: string[]) =>
  partner(['create', '--short-name', shortName, '--name', 'Acme', '--country', 'KE', ...rest])
const remote = ['--remote', '--env', 'staging']

test('a partner is created also when its address is not known', async () => {
  expect(await create('acme', ...remote)).toMatchObject({ code: 0, stdout: expect.stringMatching(/pcs_\w{36}\n$/) })
})

test('a new secret is printed, also when the contact can’t be stored', async () => {
  const DB = interceptD1(bindings().DB, (call, { sql }) =>
    /insert into "?partner_contacts/.test(sql) ? failWith('lost')(call) : call(),
  )
  const overrides = { requireOrigin: noOrigin, withStore: openOn(DB) }
  const words = 'partner create --short-name acme --name Acme --country KE --contact amina'
  const { code, stdout } = await runCommand(words.split(' '), overrides)
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/pcs_\w{36}\n$/) })
})

test('when a new secret can’t be printed, the program knows that it was made, and how to replace it', async () => {
  const runUnseen = async (words: string) => {
    const effect: CommandContext['effect'] = { outcome: 'unchanged' }
    await runCommand(`partner ${words}`.split(' '), { requireOrigin: noOrigin, withStore, effect })
    return effect
  }
  const another = (flags: string) => expect.stringMatching(new RegExp(`partner rotate acme ${flags}$`))
  const created = await runUnseen('create --short-name acme --name Acme --country KE')
  expect(created).toEqual({ outcome: 'changed', ifOutputFails: another('--grace 0') })
  expect(await runUnseen('rotate acme')).toEqual({ outcome: 'changed', ifOutputFails: another('--replace-newest') })
  expect(await runUnseen('suspend acme')).toEqual({ outcome: 'changed' })
  for (const words of ['suspend acme', 'show acme', 'rotate boda']) {
    expect(await runUnseen(words)).toEqual({ outcome: 'unchanged' })
  }
})

test('partner suspend asks before it reads the database, and marks the partner in the cache while that fails', async () => {
  await create('acme')
  let calls = 0
  const DB = interceptD1(bindings().DB, (call) => {
    calls++
    return failWith('D1 is down')(call)
  })
  const suspend = (terminal: Terminal) =>
    runCommand(['partner', 'suspend', 'acme', ...remote], { withStore: openOn(DB) }, terminal)
  expect(await suspend({})).toEqual(
    refused(expect.stringMatching(/^\[staging\] acme will be suspended: .* add --yes /)),
  )
  expect(calls).toBe(0)
  const { stderr } = await suspend({ stdin: 'y\n', isTTY: true })
  expect(stderr).toMatch(/ Go ahead\? \[y\/N\] The database did not answer\. acme .*cache/)
})

test('a refusal after an early mark does not say that nothing was changed', async () => {
  await create('acme')
  const DB = interceptD1(bindings().DB, async (call) => {
    // Until the mark is written.
    await vi.advanceTimersByTimeAsync(5000)
    return call()
  })
  const refuse = async (on: D1Database) =>
    (await runCommand(['partner', 'rotate', 'acme', '--replace-newest'], { withStore: openOn(on) })).stderr
  expect(await refuse(bindings().DB)).toMatch(/^acme has only one secret\.\n.*\nNothing was changed\.\n$/)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  expect(await refuse(DB)).toMatch(/^acme is marked .*\nacme has only one secret\.\n.*: npm run .*\n$/)
})

test('partner set is refused when somebody else changes the partner during the question', async () => {
  await create('acme')
  let isMoved = false
  const DB = interceptD1(bindings().DB, async (call, { sql }) => {
    if (sql.includes('viewable_in') && !isMoved) {
      isMoved = true
      await partner(['set', 'acme', 'country=TZ'])
    }
    return call()
  })
  const words = ['partner', 'set', 'acme', 'country=UG', ...remote]
  const terminal = { stdin: 'y\n', isTTY: true }
  const { code, stderr } = await runCommand(words, { withStore: openOn(DB) }, terminal)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('Somebody else changed acme') })
  expect((await partner(['show', 'acme'])).stdout).toMatch(/^country +TZ$/m)
})

test('a command is one line of the record, without characters that a terminal acts on', async () => {
  await create('acme')
  await partner(['suspend', 'acme', '--note', 'Two\nlines,\u001b[31m red\u202e.'])
  const { stdout } = await runCommand(['log', '--partner', 'acme', '--json'], { withStore })
  const note = 'Two lines, [31m red .'
  expect(JSON.parse(stdout)[0]).toMatchObject({ note, command: `partner suspend acme --note '${note}'` })
})

test('a contact is in the record in no form', async () => {
  const contact = 'amina@acme.example'
  await create('acme', '--contact', contact)
  await create('boda', `--contact=${contact}`)
  await partner(['set', 'acme', 'name=Other', `contact=${contact}`, '--note', 'New contact.'])
  expect((await partner(['show', 'acme'])).stdout).toContain(contact)
  const { results } = await bindings()
    .DB.prepare('select command from change_record where partner = ?')
    .bind('acme')
    .all()
  expect(results[1]).toEqual({ command: `partner set acme name=Other contact=… --note 'New contact.'` })
  expect((await runCommand(['log', '--json'], { withStore })).stdout).not.toContain(contact)
})

test('the log says whether a contact was set, whatever its command contains', async () => {
  await create('acme')
  await partner(['set', 'acme', 'name=Call contact=here', '--note', 'x'])
  await partner(['set', 'acme', 'country=UG', '--note', 'x'.repeat(500), 'contact=amina'])
  const { stdout } = await runCommand(['log', '--partner', 'acme'], { withStore })
  expect(readTable(stdout).map(([, , action]) => action)).toEqual([
    'ACTION',
    'set country: KE → UG, contact',
    'set name: Acme → Call contact=here',
    'create: Acme, KE',
    undefined,
  ])
})

test.each(['1999-12-31', '2099-12-31'])('--grace is by the clock of D1, on a machine where it is %s', async (date) => {
  await create('acme')
  vi.useFakeTimers({ now: Date.parse(date), toFake: ['Date'] })
  await partner(['rotate', 'acme', '--grace', '24h'])
  const query = `select secrets ->> '$[0].expiresAt' - unixepoch() from change_record where kind = 'rotate'`
  const [[seconds] = []] = await bindings().DB.prepare(query).raw<[number]>()
  expect(seconds).toBeGreaterThan(86_400 - 60)
  expect(seconds).toBeLessThanOrEqual(86_400)
})

describe('partner identify', () => {
  const identify = (stdin: string | Uint8Array, args: string[] = [], isTTY = false) =>
    partner(['identify', ...args], { stdin, isTTY })
  const createSecret = async (shortName: string) => {
    const { stdout } = await create(shortName, '--json')
    return (JSON.parse(stdout) as { clientSecret: string }).clientSecret
  }

  // secret-forms.test.ts has the forms that a secret can have in a text.
  test('finds a secret in text of any encoding', async () => {
    const secret = await createSecret('acme')
    const texts = [
      `\ufeff${secret}\r\n`,
      Buffer.from(`\ufeff${secret}\r\n`, 'utf16le'),
      Buffer.concat([Buffer.of(0xff, 0xe9, 0x80), Buffer.from(secret)]),
      `export ACME_${secret}_OLD && curl -d 'client_secret%3D${secret}'\n`,
      Buffer.from(`CLIENT_SECRET=${secret}\n`, 'utf16le'),
      Buffer.from(`CLIENT_SECRET=${secret}\n`, 'utf16le').swap16(),
      `${secret} Bearer eyJhbGciOiJIUzI1NiJ9.eyJwIjoxfQ.abc-_`,
    ]
    for (const text of texts) {
      const { code, stdout, stderr } = await identify(text)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(/\nshortName {3}acme\n/)
      expect(stdout).not.toContain(secret)
    }
  })

  test('answers for each of ten secrets, and counts the rest', async () => {
    const secrets = [await createSecret('acme'), await createSecret('boda')]
    const read = async (lines: string[]) => {
      const { code, stdout, stderr } = await identify(lines.join('\n'), ['--json'])
      const answers = JSON.parse(stdout) as { line: number; shortName?: string }[]
      return { code, stderr, answers: answers.map(({ line, shortName = '' }) => `${line} ${shortName}`.trim()) }
    }
    expect(await read(['x', ...secrets])).toEqual({ code: 0, stderr: '', answers: ['2 acme', '3 boda'] })
    const others = Array.from({ length: 11 }, () => generateClientSecret())
    expect(await read([...others.slice(1), ...secrets])).toEqual({
      code: 3,
      stderr: expect.stringMatching(/^Leaks not listed: 2\. .*\nNo listed leak matches a live secret/),
      answers: Array.from({ length: 10 }, (_, index) => String(index + 1)),
    })
    const { stdout } = await identify([others[0], ...secrets].join('\n'))
    for (const secret of [...others, ...secrets]) expect(stdout).not.toContain(secret)
    expect(stdout.split('\n\n').map((block) => /^state +(.*)$/m.exec(block)?.[1])).toEqual([
      'matches no live secret, token or key',
      'accepted',
      'accepted',
    ])
  })

  test('knows signing keys by their names, in use or not, and those that may be one', async () => {
    const [kid, dropped, mentioned] = ['1700000000', '1600000000', '1700000001']
    const value = `aB${generateKey().slice(2)}`
    const text = `JWT_KEY_${kid}=${value}\nJWT_KEY_${dropped}=${value}\n${value}\nJWT_KEY_${mentioned}`
    const openSecrets = async () => createMemorySecrets(...[kid, mentioned].map((one) => `JWT_KEY_${one}`))
    const noStore = () => Promise.reject(new Error('the store is not needed'))
    const run = async (stdin: string) => {
      const overrides = { openSecrets, withStore: noStore }
      const { code, stdout, stderr } = await runCommand(['partner', 'identify', '--json'], overrides, { stdin })
      expect(stdout + stderr).not.toContain(value)
      const [hint = ''] = stderr.split('\n')
      return { code, answers: JSON.parse(stdout) as unknown, hint }
    }
    const drop = (one: string) => `npm run -s ops -- keys drop ${one} --leaked`
    const inUse = { line: 1, kind: 'signing-key', state: 'in use: it verifies', kid, ifItLeaked: drop(kid) }
    const hint = `Line 3 may hold a signing key, which this command can't compare with the live keys: see "A signing key leaked" in src/worker/ONCALL.md.`
    expect(await run(text)).toEqual({
      code: 0,
      answers: [
        inUse,
        { line: 2, kind: 'signing-key', state: 'matches no live secret, token or key', kid: dropped },
        {
          line: 4,
          kind: 'key-name',
          state: expect.stringMatching(/^in use: it signs; .* no secret$/),
          kid: mentioned,
          ifItLeaked: drop(mentioned),
        },
      ],
      hint,
    })
    expect(await run(`\n\n${value}`)).toEqual({ code: 3, answers: [], hint })
    const many = Array.from({ length: 12 }, () => `aB${generateKey().slice(2)}`).join('\n')
    expect((await run(many)).hint).toMatch(/^Lines 1, 2, 3 and 9 more may hold a signing key, /)
  })

  test('in an outage prints the partner that a token names, and the key, and then fails', async () => {
    const { stdout } = await create('acme', '--json')
    const { clientId, clientSecret } = JSON.parse(stdout) as Credentials
    const issue = (claims: object) =>
      `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
    const times = { iat: 1_795_262_400, exp: 1_795_266_000 }
    const text = [
      issue({ sub: clientId, partner: 'acme', ...times }),
      issue({ sub: 'other', partner: '$(rm)', ...times }),
      issue({ sub: 'no date', iat: 1e20, exp: 1e20 }),
      clientSecret,
      `JWT_KEY_1700000000=${generateKey()}`,
    ].join('\n')
    const down = () => Promise.reject(new UserError('Down.'))
    const outage = { withStore: down, openSecrets: async () => ({ ...createMemorySecrets(), list: down }) }
    const failed = await runCommand(['partner', 'identify', '--json'], outage, { stdin: text })
    const named = { state: 'not known', createdAt: '2026-11-21T12:00:00Z', expiresAt: '2026-11-21T13:00:00Z' }
    const command = 'npm run -s ops --'
    expect(JSON.parse(failed.stdout)).toEqual([
      {
        line: 5,
        kind: 'signing-key',
        state: 'not known',
        kid: '1700000000',
        ifItLeaked: `${command} keys drop 1700000000 --leaked`,
      },
      { line: 4, kind: 'secret', state: 'not known' },
      {
        line: 1,
        kind: 'token',
        ...named,
        shortName: 'acme',
        clientId,
        ifItLeaked: `${command} partner lockdown acme --tokens-only`,
      },
      { line: 2, kind: 'token', ...named },
    ])
    expect({ code: failed.code, stderr: failed.stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^Down\.\nDown\.\nNot everything could be read/),
    })
  })

  test('names the line of a secret that is cut or mistyped, also beside a whole one', async () => {
    const secret = await createSecret('acme')
    const cut = `\n${secret.slice(0, -1)}`
    const hint = /^Line 2 may hold a part of a client secret, or a mistyped secret: copy the whole secret; /
    const [alone, beside] = [await identify(cut), await identify(`${secret}${cut}`)]
    expect([alone, beside]).toMatchObject([
      { code: 3, stderr: expect.stringMatching(hint) },
      { code: 0, stdout: expect.stringMatching(/\nshortName {3}acme\n/), stderr: expect.stringMatching(hint) },
    ])
    expect(alone.stderr + beside.stderr).not.toContain(secret.slice(4, 20))
  })

  test.each(['pcs_…', 'CLIENT_SECRET=x', 'eyJhbGciOiJ9.eyJwIjoxfQ.x', 'eyJh.eyJh.x'])(
    'says at once that %j is none, and does not print it',
    async (text) => {
      const noStore = () => Promise.reject(new Error('the store is not needed'))
      const { code, stderr } = await runCommand(['partner', 'identify'], { withStore: noStore }, { stdin: text })
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: expect.stringMatching(/^The text has no secret, token or signing key of this service: /),
      })
      expect(stderr).not.toContain(text)
    },
  )

  test.each([
    ['', false],
    [' \r\n', false],
    ['pcs_x', true],
  ])('refuses %j as the input (a terminal, which would show it: %s)', async (stdin, isTTY) => {
    expect(await identify(stdin, [], isTTY)).toEqual(refused(expect.stringMatching(/^There is no secret on standard/)))
  })

  test.each([['pcs_x'], ['--secret=pcs_x'], ['--json=pcs_x'], ['-s', 'pcs_x']])(
    'refuses a secret as an argument, and does not print it: %s',
    async (...args) => {
      const refusal = /^Never pass a secret as an argument: [^_]*\n$/
      expect(await identify('', args)).toEqual(refused(expect.stringMatching(refusal)))
    },
  )
})
