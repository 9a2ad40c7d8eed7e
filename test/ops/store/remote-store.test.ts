// The store of --remote, against a loopback server with the calls of Cloudflare's API that it makes.
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { readPath } from '../../../src/json.ts'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { selectPartnerEntries } from '../../../src/db/partner-queries.ts'
import { cancelPublication } from '../../../src/ops/core/publications/publications.ts'
import { requirePlan } from '../../../src/ops/core/catalog/catalog-plans.ts'
import { changePartner, type PartnerRequest } from '../../../src/ops/core/partners/account-changes.ts'
import { createPartner, requirePartner, listPartners } from '../../../src/ops/core/partners/partner-accounts.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { CloudflareError } from '../../../src/ops/store/failure.ts'
import { withRemoteStore } from '../../../src/ops/store/remote-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { openWorkerSecrets } from '../../../src/ops/store/worker-secrets.ts'
import { getPartnerKey, partnerKeyPrefix } from '../../../src/api/cache-keys.ts'
import { addVersion, deployVersions } from '../../account/workers.ts'
import { serve } from '../../support/loopback-server.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import type { Failure } from '../../account/account.ts'
import { deployWorker, useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'
import { closePlan, openPlan } from '../support/publish-prepared.ts'

const target = { remote: true, env: 'staging' }
const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)

const attribution = { actor: 'amina@example.com', command: 'test', note: null }
const request = { attribution }
const runRemote = (...words: string[]) => runCommand([...words, '--remote', '--env', 'staging'])
const acme = { shortName: 'acme', name: 'Acme', country: 'KE' }
let warnings: string[]
const operator = { attribution, warn: (warning: string) => void warnings.push(warning) }

beforeAll(async () => {
  await publishPlans(openOperatorDatabase(bindings().DB), [makePlan({ id: 1 })])
  await create('acme')
  await create('kept')
})
beforeEach(() => {
  warnings = []
})
afterEach(() => void vi.unstubAllGlobals())

/** Core on the remote store, with quick hashes. */
const remote = <T>(work: (store: Store) => Promise<T>) =>
  withRemoteStore(target, (store) => work({ ...store, config: { PBKDF2_ITERATIONS: 1 } }))
const create = (shortName: string) => remote((store) => createPartner(store, { ...acme, shortName }, attribution))
const change = (name: string, wanted: PartnerRequest) => remote((store) => changePartner(store, name, wanted, operator))

test('a partner is suspended, with a warning, when the cache leaves its key out', async () => {
  await create('left')
  const send = globalThis.fetch
  const refusal = { success: true, result: { successful_key_count: 0, unsuccessful_keys: ['left'] } }
  vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) =>
    (input as string).endsWith('/bulk') ? Promise.resolve(Response.json(refusal)) : send(input, init),
  )
  await change('left', { kind: 'suspend' })
  expect(warnings).toEqual([expect.stringMatching(/^The cache could not be marked: /)])
})

test('while D1 fails, a suspension marks the partner in the cache, whose copies it finds on any page', async () => {
  const { CATALOG_CACHE } = bindings()
  for (let id = 10; id < 40; id++) {
    const metadata = { shortName: id === 38 ? 'acme' : `other-${id}`, checkedAtMs: 1, mac: '' }
    await CATALOG_CACHE.put(getPartnerKey(`${id}`), '{}', { metadata })
  }
  cloudflare().failure = { call: /\/d1\//, status: 500, message: 'D1 is down', isPermanent: true }
  expect(await runRemote('partner', 'lockdown', 'acme', '--yes')).toEqual(
    refused(
      expect.stringMatching(
        /^The database did not answer\. acme is marked in the cache: .*\nCloudflare answered 500: D1 is down\.\nNothing was changed in the database\.\n$/,
      ),
    ),
  )
  cloudflare().failure = undefined
  const { keys } = await CATALOG_CACHE.list({ prefix: partnerKeyPrefix })
  const marks = keys.filter(({ metadata }) => readPath(metadata, 'endedAtMs') !== undefined)
  expect(marks.map(({ name }) => name)).toEqual([getPartnerKey('38')])
  for (const { name } of keys) await CATALOG_CACHE.delete(name)
})

describe('a failure is one line that names the fix', () => {
  const otherAccount = /^Cloudflare refuses the token \(403\): Authentication error\. Check that the token has /
  const noToken = 'Set CLOUDFLARE_API_TOKEN to a token: see "Tokens" in src/worker/DEPLOY.md.'
  const noAccount = 'Set CLOUDFLARE_ACCOUNT_ID to the ID of the account, 32 hexadecimal digits.'

  test.each([
    ['API_TOKEN', '', noToken],
    ['API_TOKEN', `${'e'.repeat(40)}\n`, /^CLOUDFLARE_API_TOKEN has a character that no token has, .* a line end: /],
    ['API_TOKEN', '…', /^CLOUDFLARE_API_TOKEN has a character /],
    ['API_TOKEN', 'e'.repeat(32), otherAccount],
    ['API_BASE_URL', 'http://127.0.0.1:59999', /^Can't reach 127.0.0.1:59999: ECONNREFUSED\.$/],
    ['ACCOUNT_ID', '', noAccount],
    ['ACCOUNT_ID', '../x', noAccount],
    ['ACCOUNT_ID', 'e'.repeat(32), otherAccount],
  ])('CLOUDFLARE_%s=%j', async (name, value, message) => {
    vi.stubEnv(`CLOUDFLARE_${name}`, value)
    await expect(remote(listPartners)).rejects.toThrow(message)
  })

  test.each([
    ['prodution', 'wrangler.toml has no environment "prodution". It has: staging, production.'],
    [
      'production',
      'wrangler.toml lacks the database_id of DB and the id of CATALOG_CACHE in [env.production]: a line that begins with # does not count. See "The first deploy" in src/worker/DEPLOY.md.',
    ],
  ])('--env %s', async (env, message) => {
    await expect(withRemoteStore({ remote: true, env }, listPartners)).rejects.toThrow(new UserError(message))
  })

  const json = (status: number, ...errors: object[]): Answer => [status, {}, JSON.stringify({ success: false, errors })]
  type Answer = [status: number, headers: Record<string, string>, body: string]
  const page = '<!DOCTYPE html>\n<title>Sign in</title>'
  const headers = { code: 6003, message: 'Invalid request headers' }

  test.each<[string, Answer, RegExp]>([
    [
      'a redirect, which is not followed with the token',
      [302, { Location: 'https://login.example.com/?next=x' }, page],
      /^127\.0\.0\.1:\d+ answered 302 with a redirect to "https:\/\/login\.example\.com\/\?next=x", .* proxy or firewall,/,
    ],
    ['a page of a proxy', [200, {}, page], /^127\.0\.0\.1:\d+ answered 200 with a web page, .* proxy or firewall,/],
    ['a page of a firewall', [403, {}, `\n${page}`], /answered 403 with a web page, .* proxy or firewall,/],
    ['a page while Cloudflare fails', [502, {}, page], /^Cloudflare answered 502: /],
    [
      'a text that is no token',
      json(400, { ...headers, error_chain: [{ code: 6111, message: 'Invalid format for Authorization header' }] }),
      /^Cloudflare refuses the token \(400\): Invalid request headers; Invalid format for Authorization header\. Check that CLOUDFLARE_API_TOKEN is a whole /,
    ],
    [
      'an ID that is not there',
      json(404, { code: 7404, message: 'The database could not be found' }),
      /^Cloudflare answered 404: The database could not be found\. Check CLOUDFLARE_ACCOUNT_ID, and the name and IDs in wrangler\.toml\./,
    ],
  ])('%s', async (_, answer, message) => {
    const urls: string[] = []
    const origin = await serve(({ url = '' }, response) => {
      urls.push(url)
      response.writeHead(answer[0], answer[1]).end(answer[2])
    })
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', origin)
    await expect(remote(listPartners)).rejects.toThrow(message)
    expect([...new Set(urls)]).toEqual([expect.stringMatching(/^\/accounts\/.*\/raw$/)])
  })

  test.each([
    [
      'ECONNREFUSED',
      { HTTPS_PROXY: 'http://proxy.example.com:3128' },
      ' HTTPS_PROXY is set, and Node does not use it: ',
    ],
    ['ECONNREFUSED', { HTTPS_PROXY: 'http://proxy.example.com:3128', NODE_USE_ENV_PROXY: '1' }, '$'],
    ['ETIMEDOUT', { https_proxy: 'http://proxy.example.com:3128' }, ' HTTPS_PROXY is set, and Node does not use it: '],
    ['SELF_SIGNED_CERT_IN_CHAIN', {}, ' Node does not know the certificate: set NODE_EXTRA_CA_CERTS '],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', {}, ' Node does not know the certificate: set NODE_EXTRA_CA_CERTS '],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', {}, ' Node does not know the certificate: set NODE_EXTRA_CA_CERTS '],
    ['CERT_HAS_EXPIRED', {}, '$'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', {}, '$'],
  ])('%s with %j', async (code, variables, hint) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
    const failure = new TypeError('fetch failed', { cause: { code } })
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(failure)
    await expect(remote(listPartners)).rejects.toThrow(
      new RegExp(`^Can't reach 127\\.0\\.0\\.1:\\d+: ${code}\\.${hint}`),
    )
  })
})

describe('Cloudflare’s clock', () => {
  const realNowMs = () => performance.timeOrigin + performance.now()
  const expectNow = (timeMs: number, startMs: number) => {
    expect(timeMs).toBeGreaterThan(startMs)
    expect(timeMs).toBeLessThan(realNowMs() + 1100)
  }
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 300_000 })
    cloudflare().calls.length = 0
  })
  afterEach(() => void vi.useRealTimers())

  test.each([
    ['is asked, whatever this machine’s clock says', undefined],
    ['is in a refusal, too', 500],
  ])('%s', async (_, status) => {
    if (status) cloudflare().failure = { call: /./, status, message: 'Down.', isPermanent: true }
    const startMs = realNowMs()
    expectNow(await remote(({ askServerTimeMs }) => askServerTimeMs()), startMs)
    expect(cloudflare().calls).toHaveLength(1)
    cloudflare().failure = undefined
  })

  test('is not known when Cloudflare can’t be reached', async () => {
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', 'http://127.0.0.1:59999')
    await expect(remote(({ askServerTimeMs }) => askServerTimeMs())).rejects.toThrow(/^Can't reach 127\.0\.0\.1:59999/)
  })
})

/** A failure of the statement that changes a partner. */
const failChange = (failure: Omit<Failure, 'call'>) => {
  cloudflare().failure = { call: /\/raw$/, body: /insert into \\?"?change_record/, ...failure }
}
const countEntries = async () => (await remote((store) => selectPartnerEntries(store.db, { shortName: 'kept' }))).length

test('a change is sent again as soon as Cloudflare says', async () => {
  const before = await countEntries()
  failChange({ status: 429, code: 7429, message: 'D1 DB is overloaded.', retryAfterSeconds: 1 })
  const startMs = performance.now()
  await change('kept', { kind: 'set', name: 'Kept later' })
  expect(performance.now() - startMs).toBeGreaterThan(1000)
  expect(await countEntries()).toBe(before + 1)
})

test.each([true, false])('a change whose answer is lost is made once (%s: it had its effect)', async (hasEffect) => {
  const before = await countEntries()
  failChange({ status: 500, message: 'D1_ERROR: Network connection lost.', hasEffect })
  const partner = { name: `Kept ${hasEffect}` }
  await change('kept', { kind: 'set', ...partner })
  expect((await remote((store) => requirePartner(store, 'kept'))).name).toBe(partner.name)
  expect(await countEntries()).toBe(before + 1)
})

describe('when a change is made and the answer is lost', () => {
  const close = (note = 'Sold out.', dueAt?: number) =>
    remote((store) => closePlan(store, 'plan-1', note, { ...request, ...(dueAt !== undefined && { dueAt }) }))
  beforeEach(() => remote((store) => openPlan(store, 'plan-1', request)))

  test.each([
    ['before the statement that publishes', -4, []],
    [
      'with the statement that publishes',
      -3,
      [
        'It is not known whether the change was made. A new client secret that was not printed is lost.',
        'If the log lacks the change, repeat the command. If the log has the change, replace a lost secret with partner rotate.',
        'When Cloudflare answers, see: npm run -s ops -- log --remote --env staging',
      ],
    ],
  ] as const)('when Cloudflare is gone %s, the error says what became of the change', async (note, after, claims) => {
    const fake = cloudflare()
    fake.statements = 0
    await close(note)
    const count = fake.statements
    await remote((store) => openPlan(store, 'plan-1', request))
    fake.statements = 0
    fake.outage = { after: count + after, hasEffect: true, isPermanent: true }
    const failure = `Can't reach ${new URL(fake.url).host}: UND_ERR_SOCKET.`
    await expect(close(note)).rejects.toThrow(new UserError([failure, ...claims]))
    fake.outage = undefined
    const { isInvestable } = await remote((store) => requirePlan(store, 'plan-1'))
    expect(isInvestable).toBe(after === -4)
  })

  test('an answer that is cut off counts as lost', async () => {
    const original = fetch
    let lostCount = 0
    vi.stubGlobal('fetch', async (...[url, init]: Parameters<typeof fetch>) => {
      const response = await original(url, init)
      const isUpdate = typeof init?.body === 'string' && init.body.includes('update \\"publications')
      if (!isUpdate || lostCount++ > 0) return response
      await response.body?.cancel()
      return new Response('{"success":tr')
    })
    const { publication } = await close('Later.', Math.floor(Date.now() / 60_000) * 60 + 86_400)
    expect(publication).toMatchObject({ state: 'scheduled' })
    await remote((store) => cancelPublication(store, publication?.id ?? 0, attribution))
    expect(lostCount).toBeGreaterThan(0)
  })

  test('and something else fails later, the error says that the change was made', async () => {
    const later = remote(async (store) => {
      await changePartner(store, 'kept', { kind: 'set', name: 'Lost and found' }, operator)
      throw new CloudflareError('No.')
    })
    await expect(later).rejects.toThrow(/^No\.\nThe change was made\. /)
  })
})

describe('the names of a Worker’s secrets', () => {
  const { list, checkEditable } = openWorkerSecrets(target)

  const deploy = (...names: string[]) => deployWorker(cloudflare(), ...names)

  test('are those of the live versions and of the latest, which differ after a rollback', async () => {
    const { worker, version } = deploy('FIRST', 'DROPPED')
    const latest = ['FIRST', 'ADDED'].map((name) => ({ name, type: 'secret_text', text: 'y' }))
    addVersion(worker, { ...version, bindings: latest })
    expect(await list()).toEqual({ live: ['FIRST', 'DROPPED'], latest: ['FIRST', 'ADDED'] })
  })

  test.each([
    [10, ['FIRST']],
    [100, []],
  ])('are live when any live version has them: one without them gets %i % of the requests', async (share, live) => {
    const { worker, version } = deploy('FIRST')
    const { id: latest } = addVersion(worker, { ...version, bindings: [] })
    deployVersions(worker, [
      { version_id: version.id, percentage: 100 - share },
      { version_id: latest, percentage: share },
    ])
    expect(await list()).toEqual({ live, latest: [] })
  })

  test('are none while there is no Worker, and can be set', async () => {
    cloudflare().workers.clear()
    expect(await list()).toEqual({ live: [], latest: [] })
    await checkEditable()
  })

  test('can’t be changed while another version than the latest is live, alone or beside it', async () => {
    const { worker, version } = deploy('FIRST')
    await checkEditable()
    const problem =
      'The secrets of the Worker can’t be changed until its latest version gets all requests.\nDeploy first: npm run deploy -- --env staging'
    const { id: latest } = addVersion(worker, version)
    await expect(checkEditable()).rejects.toThrow(new UserError(problem))
    deployVersions(worker, [
      { version_id: version.id, percentage: 10 },
      { version_id: latest, percentage: 90 },
    ])
    await expect(checkEditable()).rejects.toThrow(new UserError(problem))
  })

  test('can’t be listed when Cloudflare refuses', async () => {
    cloudflare().failure = { call: /\/secrets$/, status: 400, message: 'no such account' }
    await expect(list()).rejects.toThrow(new UserError('Cloudflare answered 400: no such account.'))
  })
})
