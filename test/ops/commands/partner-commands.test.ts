import { beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createPartner,
  emptyDatabase,
  keysLeftAfter,
  onState,
  ops,
  readJson,
  state,
  useLocalState,
  bindings,
} from '../support/run-ops.ts'

useLocalState()
beforeEach(emptyDatabase)

const create = (shortName: string, ...rest: string[]) =>
  onState('partner', 'create', '--short-name', shortName, '--name', 'Acme "Wallet"', '--country', 'KE', ...rest)

interface ShownPartner {
  country: string
  status: string
  suspendedAt: string | null
  secrets: { createdAt: string; expiresAt: string | null }[]
}
const show = (shortName: string) => readJson<ShownPartner>('partner', 'show', shortName)
const isoTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/) as string

describe('partner create', () => {
  test('prints the credentials this once, and stores only a hash', async () => {
    const { code, stdout, stderr } = await create('acme')
    expect([code, stderr]).toEqual([0, 'The secret is shown this once: only its hash is stored.\n'])
    const [, row = ''] = stdout.split('\n')
    expect(row).toMatch(/^acme +KE +\w{16} {2}\w{40}$/)
    const joined = 'select * from partners join partner_secrets on partner_id = partners.id'
    const { results } = await bindings().DB.prepare(joined).all()
    expect(results).toMatchObject([
      { short_name: 'acme', name: 'Acme "Wallet"', country: 'KE', suspended_at: null, expires_at: null },
    ])
    expect(results[0]?.['hash']).toMatch(/^\$pbkdf2-sha256\$i=100000\$/)
    expect(JSON.stringify(results)).not.toContain(row.slice(-40))
  })

  test('prints an object for scripts, and nothing else', async () => {
    const { code, stdout, stderr } = await create('acme', '--json')
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      clientId: expect.stringMatching(/^\w{16}$/),
      clientSecret: expect.stringMatching(/^\w{40}$/),
      shortName: 'acme',
      country: 'KE',
    })
  })

  test('names everything that is wrong, a line each', async () => {
    const args = ['partner', 'create', '--short-name', 'Acme/', '--name', ' ', '--country', 'ke']
    expect(await ops(args)).toEqual({
      code: 2,
      stdout: '',
      stderr: [
        '--short-name has to be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is "Acme/".',
        '--name has to be 1 to 200 visible characters on one line; it is " ".',
        '--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "ke".\n',
      ].join('\n'),
    })
  })

  test.each([
    ['--short-name', 'a'],
    ['--short-name', 'acme-'],
    ['--short-name', 'a'.repeat(33)],
    ['--name', 'a'.repeat(201)],
    ['--name', 'red\u001b[31m'],
    ['--name', 'two\nlines'],
    ['--country', 'ke'],
    ['--country', 'XX'],
  ])('does not take %s %j', async (flag, value) => {
    const { code, stdout, stderr } = await create('acme', flag, value)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(new RegExp(`^${flag} has to be .*\\n$`))
    expect(stderr).not.toContain('\u001b')
  })

  test('does not take a short name twice', async () => {
    await create('acme')
    const stderr = `The short name acme is taken. Choose another, or see: npm run -s ops -- partner list --persist-to ${state}\n`
    expect(await create('acme')).toEqual({ code: 2, stdout: '', stderr })
    expect(JSON.parse((await onState('partner', 'list', '--json')).stdout)).toHaveLength(1)
  })
})

test('partner list shows who is there, and no secret', async () => {
  expect(await onState('partner', 'list')).toEqual({ code: 0, stdout: '', stderr: 'There is no partner yet.\n' })
  const credentials = JSON.parse((await create('zeta', '--json')).stdout) as { clientId: string }
  await create('acme')
  const { stdout } = await onState('partner', 'list')
  expect(stdout.split('\n').map((line) => line.split(/ {2,}/)[0])).toEqual(['SHORT NAME', 'acme', 'zeta', ''])
  const [, zeta] = JSON.parse((await onState('partner', 'list', '--json')).stdout) as object[]
  expect(zeta).toEqual({
    shortName: 'zeta',
    name: 'Acme "Wallet"',
    country: 'KE',
    clientId: credentials.clientId,
    status: 'active',
    createdAt: isoTime,
    suspendedAt: null,
  })
})

test('partner show tells all but the secret', async () => {
  const { clientId, clientSecret } = await createPartner('acme')
  const { stdout } = await onState('partner', 'show', 'acme')
  expect(stdout).toMatch(/^short name {2}acme\nname +Acme "Wallet"\ncountry +KE\n/)
  expect(stdout).not.toMatch(new RegExp(`${clientSecret}|pbkdf2`))
  expect(await show('acme')).toEqual({
    shortName: 'acme',
    name: 'Acme "Wallet"',
    country: 'KE',
    clientId,
    status: 'active',
    createdAt: isoTime,
    suspendedAt: null,
    secrets: [{ createdAt: isoTime, expiresAt: null }],
  })
})

describe('partner rotate', () => {
  test('gives a new secret, and the old one the grace period', async () => {
    const { clientId, clientSecret } = await createPartner('acme')
    const { code, stdout, stderr } = await onState('partner', 'rotate', 'acme', '--grace', '2h')
    expect(code).toBe(0)
    expect(stdout).toMatch(new RegExp(`\nacme +KE +${clientId} {2}\\w{40}\n$`))
    expect(stdout).not.toContain(clientSecret)
    expect(stderr).toBe(
      'The secret is shown this once: only its hash is stored.\nThe old secret works for another 2h.\n',
    )
    const { secrets } = await show('acme')
    expect(secrets).toEqual([
      { createdAt: isoTime, expiresAt: isoTime },
      { createdAt: isoTime, expiresAt: null },
    ])
    const [old] = secrets
    const endsInMs = Date.parse(old?.expiresAt ?? '') - Date.parse(old?.createdAt ?? '')
    expect(Math.abs(endsInMs - 2 * 3600_000)).toBeLessThan(60_000)
  })

  test('prints an object for scripts, and nothing else', async () => {
    const { clientId } = await createPartner('acme')
    const { stdout, stderr } = await onState('partner', 'rotate', 'acme', '--json')
    expect(stderr).toBe('')
    const clientSecret = expect.stringMatching(/^\w{40}$/) as string
    expect(JSON.parse(stdout)).toEqual({ clientId, clientSecret, shortName: 'acme', country: 'KE' })
  })

  test('is refused a third time inside the grace, and says how long that lasts', async () => {
    await createPartner('acme')
    await onState('partner', 'rotate', 'acme')
    const { secrets } = await show('acme')
    const { code, stdout, stderr } = await onState('partner', 'rotate', 'acme')
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(
      new RegExp(
        `^acme has two live secrets: its last rotation's grace lasts until ${secrets[0]?.expiresAt}\\. Wait for that, or end both now: npm run -s ops -- partner rotate acme --grace 0 --persist-to .*\n$`,
      ),
    )
    expect((await show('acme')).secrets).toEqual(secrets)
  })

  test('beside another rotation is refused', async () => {
    await createPartner('acme')
    const rotate = ['partner', 'rotate', 'acme', '--persist-to', state]
    expect(await ops(rotate, { beforeFirstWrite: () => onState('partner', 'rotate', 'acme') })).toEqual({
      code: 2,
      stdout: '',
      stderr: 'acme was rotated by somebody else meanwhile. Look at it before you try again.\n',
    })
    expect((await show('acme')).secrets).toHaveLength(2)
  })

  test('without a grace ends all secrets before', async () => {
    await createPartner('acme')
    await onState('partner', 'rotate', 'acme')
    const { stderr } = await onState('partner', 'rotate', 'acme', '--grace', '0')
    expect(stderr).toContain('No secret before works any more.\n')
    expect((await show('acme')).secrets).toEqual([{ createdAt: isoTime, expiresAt: null }])
  })

  test('takes up where an earlier grace has ended', async () => {
    await createPartner('acme')
    await onState('partner', 'rotate', 'acme', '--grace', '1h')
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3600_000)
    expect((await onState('partner', 'rotate', 'acme')).code).toBe(0)
    expect((await show('acme')).secrets).toHaveLength(2)
    vi.restoreAllMocks()
  })

  test.each(['', '1', '24', '1w', '-1h', '1.5h', '31d', '721h', '9999999d', '0w'])(
    'takes no --grace %j',
    async (grace) => {
      expect(await onState('partner', 'rotate', 'acme', `--grace=${grace}`)).toEqual({
        code: 2,
        stdout: '',
        stderr: `--grace has to be 0 or a time of at most 30 days, such as 30m, 24h or 7d; it is "${grace}".\n`,
      })
    },
  )
})

test('partner suspend and resume are seen by tokens at once, and twice is no mistake', async () => {
  const { clientId } = await createPartner('acme')
  const others = ['partner:v1:other', 'plans:v1:KE:']
  const left = await keysLeftAfter([`partner:v1:${clientId}`, ...others], async () => {
    expect(await onState('partner', 'suspend', 'acme')).toEqual({
      code: 0,
      stdout: 'acme is now suspended, with the plans of KE.\n',
      stderr: '',
    })
  })
  expect(left).toEqual(others)
  const { suspendedAt } = await show('acme')
  expect(suspendedAt).toEqual(isoTime)
  expect((await onState('partner', 'suspend', 'acme')).stdout).toBe(
    'acme already is suspended, with the plans of KE.\n',
  )
  expect(await readJson('partner', 'suspend', 'acme')).toMatchObject({ status: 'suspended', suspendedAt })
  expect(await readJson('partner', 'resume', 'acme')).toMatchObject({ status: 'active', suspendedAt: null })
  expect((await onState('partner', 'resume', 'acme')).stdout).toBe('acme already is active, with the plans of KE.\n')
  expect((await show('acme')).status).toBe('active')
})

test('partner set-country changes whose plans it lists', async () => {
  const { clientId } = await createPartner('acme')
  const left = await keysLeftAfter([`partner:v1:${clientId}`], async () => {
    const { stdout } = await onState('partner', 'set-country', 'acme', 'UG')
    expect(stdout).toBe('acme is now active, with the plans of UG.\n')
  })
  expect([left, (await show('acme')).country]).toEqual([[], 'UG'])
  expect(await onState('partner', 'set-country', 'acme', 'uganda')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'The country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is "uganda".\n',
  })
})

test.each([['show'], ['rotate'], ['suspend'], ['resume'], ['set-country', 'UG']])(
  'partner %s of nobody is a mistake',
  async (verb, ...rest) => {
    const { code, stdout, stderr } = await onState('partner', verb, 'nobody', ...rest)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^There is no partner "nobody"\. See: npm run -s ops -- partner list --persist-to .*\n$/)
  },
)
