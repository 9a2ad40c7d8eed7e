import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { getPartnerKey } from '../../../src/api/cache-keys.ts'
import { hashEntry, type ChangeEntry } from '../../../src/db/change-record-queries.ts'
import { hashText } from '../../../src/db/record-hash.ts'
import { isCausedBy } from '../../../src/db/database.ts'
import { findRefusal } from '../../../src/db/refusal.ts'
import {
  findPartnerAt,
  listKeyEntries,
  listPartnerEntries,
  verifyChangeRecord,
} from '../../../src/ops/core/change-record.ts'
import { findPartner } from '../../../src/ops/core/partner-accounts.ts'
import { writeRecorded } from '../../../src/ops/core/recorded-change.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { outdatedSchema } from '../../../src/ops/shared/target.ts'
import { emptyStores } from '../support/full-database.ts'
import {
  editRecords,
  emptyDatabase,
  findRecordProblem,
  interceptChanges,
  interruptFirstWrite,
  listKeysAfter,
} from '../support/test-database.ts'
import { acme, createChanges } from '../support/partner-changes.ts'
import { store } from '../support/worker-store.ts'

const warnings: string[] = []
/** A change that dies warns that the database fails. */
const warn = (warning: string) => {
  expect(warning).toMatch(/^The database did not answer\./)
  warnings.push(warning)
}
const attribution = { actor: 'amina@example.com', command: 'partner …', note: 'Ticket 7.' }
const { name: acmeName } = acme

beforeEach(async () => {
  warnings.length = 0
  await emptyDatabase(env)
})

const { create, change, move, rename, setContact, rotate, replaceNewest, lockDown } = createChanges({
  attribution,
  warn,
})
const listEntries = (shortName?: string) => listPartnerEntries(store, { shortName })
const suspend = () => change('suspend')
const listKinds = async () => (await listEntries()).map(({ kind }) => kind)

test('every change has an entry: who, with which command, why, and the partner after it', async () => {
  const { clientId } = await create()
  const stored = await env.DB.prepare('select hash from partner_secrets').first<string>('hash')
  await rotate(60)
  const { suspendedAt } = (await change('suspend')).partner
  await move('UG')
  await change('resume')
  await replaceNewest()
  const ended = (await change('end-tokens')).partner.tokensValidFrom
  const locked = (await lockDown()).tokensValidFrom
  await rename('Acme Pay')
  await setContact('amina@acme.example')
  const closed = (await change('close')).partner
  const entries = await listEntries('acme')
  const times = entries.map(({ changedAt }) => changedAt)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  const states = entries.map((entry) => [
    entry.id,
    entry.kind,
    entry.name,
    entry.country,
    entry.suspendedAt,
    entry.closedAt,
    entry.tokensValidFrom,
    entry.secretFingerprint !== null,
  ])
  expect(states).toEqual([
    [11, 'close', 'Acme Pay', 'UG', closed.suspendedAt, closed.closedAt, locked, false],
    [10, 'set-contact', 'Acme Pay', 'UG', null, null, locked, false],
    [9, 'rename', 'Acme Pay', 'UG', null, null, locked, false],
    [8, 'lockdown', acmeName, 'UG', null, null, locked, true],
    [7, 'end-tokens', acmeName, 'UG', null, null, ended, false],
    [6, 'replace-newest', acmeName, 'UG', null, null, null, true],
    [5, 'resume', acmeName, 'UG', null, null, null, false],
    [4, 'set-country', acmeName, 'UG', suspendedAt, null, null, false],
    [3, 'suspend', acmeName, 'KE', suspendedAt, null, null, false],
    [2, 'rotate', acmeName, 'KE', null, null, null, true],
    [1, 'create', acmeName, 'KE', null, null, null, true],
  ])
  expect(closed.closedAt).not.toBeNull()
  await verifyChangeRecord(store)
  const previousHash = await hashEntry(undefined)
  const first = { id: 1, kind: 'create', partner: 'acme', kid: null, clientId, previousHash }
  expect(entries.at(-1)).toMatchObject({ ...attribution, ...first, secretFingerprint: await hashText(stored ?? '') })
})

test.each([
  ['secret_fingerprint', { kind: 'rotate', secret_hash: '$pbkdf2-sha256$x', grace_seconds: 0 }],
  ['secret_fingerprint', { kind: 'suspend', secret_fingerprint: '0'.repeat(64) }],
  ['outdated_command_line', { kind: 'suspend', record_version: null }],
  ['outdated_command_line', { kind: 'suspend', record_version: 1 }],
])('the database refuses with %s: %j', async (code, fields) => {
  await create()
  const row = { partner: 'acme', id: 2, previous_hash: 'x', actor: 'a', command: 'b', record_version: 2, ...fields }
  const sql = `insert into change_requests (${Object.keys(row).join()}) values (${Object.keys(row).fill('?').join()})`
  const failure = env.DB.prepare(sql)
    .bind(...Object.values(row))
    .run()
  expect(findRefusal(await failure.catch((error: unknown) => error))).toBe(code)
  expect(await listKinds()).toEqual(['create'])
})

test('entries from before fingerprints keep their hash', async () => {
  const [entry] = await insertKeyEntries(1)
  expect(entry && (await hashEntry(entry))).toBe('6909f58b65efbc128fb4fdf1f9e4ecb360e6dfb442eb401cf4c5928fc70cdd19')
})

test('a command that changes nothing has no entry', async () => {
  await create()
  await change('resume')
  await move('KE')
  await expect(create()).rejects.toThrow(/ is taken/)
  await expect(replaceNewest()).rejects.toThrow(/ no older secret /)
  await rotate(60)
  await expect(rotate(60)).rejects.toThrow(/ two live secrets,/)
  for (const _ of [1, 2]) await change('suspend')
  await rename(acmeName)
  await setContact(null)
  for (const _ of [1, 2]) await change('close')
  await expect(change('resume')).rejects.toThrow(/ was closed at /)
  expect(await listKinds()).toEqual(['close', 'suspend', 'rotate', 'create'])
})

test('the record holds no secret, no stored hash and no contact', async () => {
  const { clientSecret } = await create()
  await setContact('+254 700 000 000')
  const rotated = await rotate(0)
  const { results } = await env.DB.prepare('select * from change_record').all()
  const text = JSON.stringify(results)
  for (const secret of [clientSecret, rotated.clientSecret, 'pbkdf2', '+254']) expect(text).not.toContain(secret)
})

test('the entries of one partner, and those since a time', async () => {
  await create()
  await create({ shortName: 'boda' })
  expect((await listEntries('boda')).map(({ id, partner }) => [id, partner])).toEqual([[2, 'boda']])
  await expect(listEntries('nobody')).rejects.toThrow(/^There is no partner "nobody"\./)
  await editRecords(env.DB, 'update change_record set changed_at = 100 * id')
  const since = async (seconds: number) => (await listPartnerEntries(store, { since: seconds })).map(({ id }) => id)
  expect([await since(200), await since(201)]).toEqual([[2], []])
})

describe('a change and its entry are one statement', () => {
  class Death extends Error {}

  /** A database whose transport runs a batch statement by statement, and dies after `count` of them. */
  function dieAfter(count: number): Store {
    let left = count
    return interceptChanges(store, async (call) => {
      if (left-- === 0) throw new Death()
      await call()
      if (left === 0) throw new Death()
    })
  }

  /** The state of acme in its tables. The number of its secrets is the number of entries that made one. */
  const readTables = () =>
    env.DB.prepare(
      `select name, country, suspended_at, closed_at, tokens_valid_from,
         (select count(*) from partner_secrets) as secrets from partners`,
    ).first()
  const readRecord = () =>
    env.DB.prepare(
      `select name, country, suspended_at, closed_at, tokens_valid_from, case kind when 'close' then 0
         when 'lockdown' then 1
         else (select count(*) from change_record where kind in ('create', 'rotate')) end as secrets
       from change_record order by id desc`,
    ).first()

  test.each<[string, (on: Store) => Promise<unknown>]>([
    ['create', (on) => create({}, on)],
    ['rotate', (on) => rotate(60, on)],
    ['suspend', (on) => change('suspend', on)],
    ['resume', (on) => change('resume', on)],
    ['set-country', (on) => move('UG', on)],
    ['replace-newest', replaceNewest],
    ['lockdown', lockDown],
    ['end-tokens', (on) => change('end-tokens', on)],
    ['rename', (on) => rename('Acme Pay', on)],
    ['set-contact', (on) => setContact('amina@acme.example', on)],
    ['close', (on) => change('close', on)],
  ])('%s', async (kind, make) => {
    if (kind !== 'create') await create()
    if (kind === 'resume') await change('suspend')
    if (kind === 'replace-newest') await rotate(60)
    for (const count of [0, 1, 2, 3]) {
      await make(dieAfter(count)).catch((error: unknown) => {
        // A change that was made can't be made again.
        if (!(error instanceof Death || error instanceof UserError)) throw error
      })
      expect(await readTables()).toEqual(await readRecord())
    }
    expect((await listKinds())[0]).toBe(kind)
  })
})

describe('when another change comes in between', () => {
  test('the change is decided and made again', async () => {
    await create()
    const { isChanged, partner } = await move('UG', interruptFirstWrite(store, suspend))
    expect([isChanged, partner]).toEqual([true, await findPartner(store, 'acme')])
    expect((await listEntries()).map(({ kind, suspendedAt }) => [kind, suspendedAt !== null])).toEqual([
      ['set-country', true],
      ['suspend', true],
      ['create', false],
    ])
    await verifyChangeRecord(store)
  })

  test('the change is not made twice', async () => {
    await create()
    expect(await change('suspend', interruptFirstWrite(store, suspend))).toMatchObject({ isChanged: false })
    expect(await listKinds()).toEqual(['suspend', 'create'])
  })

  test('it gives up after many attempts, and says so', async () => {
    await create()
    const countries = ['KE', 'UG']
    const interrupted = interceptChanges(store, async (call) => {
      countries.reverse()
      await move(countries[0] ?? '')
      return call()
    })
    await expect(change('suspend', interrupted)).rejects.toThrow(
      new UserError('Other changes of partners and keys came in between each time. Nothing was changed: try again.'),
    )
    expect((await findPartner(store, 'acme')).suspendedAt).toBeNull()
  })

  test('all of many changes at the same time are made', async () => {
    await Promise.all(['aa', 'bb', 'cc', 'dd', 'ee'].map((shortName) => create({ shortName })))
    expect(await verifyChangeRecord(store)).toMatchObject({ entryCount: 5 })
  })
})

describe('findPartnerAt', () => {
  const at = async (seconds: number) => {
    const { country, suspendedAt } = await findPartnerAt(store, 'acme', seconds)
    return `${country} ${suspendedAt === null ? 'active' : 'suspended'}`
  }

  test('returns the partner as it was at the end of that second', async () => {
    await create()
    await move('UG')
    await change('suspend')
    await create({ shortName: 'boda' })
    await change('resume')
    await editRecords(env.DB, 'update change_record set changed_at = 100 * id')
    await env.DB.prepare('update partners set created_at = 100').run()
    expect([await at(100), await at(199)]).toEqual(['KE active', 'KE active'])
    expect([await at(200), await at(299)]).toEqual(['UG active', 'UG active'])
    expect([await at(300), await at(499)]).toEqual(['UG suspended', 'UG suspended'])
    expect([await at(500), await at(1e9)]).toEqual(['UG active', 'UG active'])
    const then = { shortName: 'acme', country: 'KE', suspendedAt: null, closedAt: null }
    expect(await findPartnerAt(store, 'acme', 100)).toEqual(then)
    await expect(at(99)).rejects.toThrow(
      new UserError('There was no partner acme at 1970-01-01T00:01:39Z: it was created at 1970-01-01T00:01:40Z.'),
    )
    await expect(findPartnerAt(store, 'nobody', 99)).rejects.toThrow(/^There is no partner "nobody"\./)
  })

  test('returns the last of several states in one second', async () => {
    await create()
    await move('UG')
    await editRecords(env.DB, 'update change_record set changed_at = 100')
    expect(await at(100)).toBe('UG active')
  })

  test('refuses a partner without an entry', async () => {
    await create()
    await editRecords(env.DB, 'delete from change_record')
    await expect(at(4e9)).rejects.toThrow(
      new UserError(
        'It is not known what acme was at 2096-10-02T07:06:40Z: the record has no entry of it from before.',
      ),
    )
  })
})

const readProblem = () => findRecordProblem(verifyChangeRecord(store))
const unrecorded = 'The partner acme was changed without an entry.'
/** @param id of the first entry that does not fit. */
const describeMismatch = (id: number) =>
  `Entry ${id} of the record does not fit: it holds another hash of entry ${id - 1}. One of them was changed after it was written.`

async function insertKeyEntries(count: number, { actor } = attribution): Promise<ChangeEntry[]> {
  const entries: ChangeEntry[] = []
  for (let id = 1; id <= count; id++) {
    const ofPartner = { partner: null, name: null, country: null, suspendedAt: null, closedAt: null }
    const added = { clientId: null, secretFingerprint: null, tokensValidFrom: null }
    const ofKey = { id, changedAt: id, kind: 'keys-rotate', kid: `K${id}` } as const
    entries.push({
      ...attribution,
      actor,
      ...ofPartner,
      ...added,
      ...ofKey,
      previousHash: await hashEntry(entries.at(-1)),
    })
  }
  await env.DB.prepare(
    `insert into change_record (id, changed_at, actor, command, note, kind, kid, previous_hash)
       select value ->> 'id', value ->> 'changedAt', value ->> 'actor', value ->> 'command', value ->> 'note',
         value ->> 'kind', value ->> 'kid', value ->> 'previousHash' from json_each(?)`,
  )
    .bind(JSON.stringify(entries))
    .run()
  return entries
}

describe('verifyChangeRecord', () => {
  const fill = async () => {
    await create()
    await change('suspend')
    await rotate(0)
    await create({ shortName: 'boda' })
    await change('resume')
  }

  test('returns what the next entry will hold', async () => {
    const { entryCount, hash } = await verifyChangeRecord(store)
    expect(entryCount).toBe(0)
    await create()
    expect((await listEntries())[0]?.previousHash).toBe(hash)
    const second = await verifyChangeRecord(store)
    expect([second.entryCount, second.hash === hash]).toEqual([1, false])
    await change('suspend')
    expect((await listEntries())[0]?.previousHash).toBe(second.hash)
  })

  const ofAcme = "where short_name = 'acme'"
  const acmeId = `(select id from partners ${ofAcme})`
  const moveId = 'update change_record set secret_fingerprint = client_id, client_id = null where id = 2'
  test.each<[problem: string, changes: string[]]>([
    ...[
      'changed_at = changed_at - 1',
      `actor = 'somebody'`,
      `command = ''`,
      'note = null',
      `kind = 'resume'`,
      `partner = 'boda'`,
      `name = 'Boda'`,
      `country = 'UG'`,
      'suspended_at = 1',
      'closed_at = 1',
      `client_id = 'AAAAAAAAAAAAAAAA'`,
      'secret_fingerprint = null',
      'tokens_valid_from = 1',
    ].map((values): [string, string[]] => [describeMismatch(4), [`update change_record set ${values} where id = 3`]]),
    [describeMismatch(3), [`update change_record set previous_hash = '' where id = 3`]],
    [describeMismatch(3), ['pragma ignore_check_constraints = on', moveId]],
    [
      describeMismatch(2),
      [
        'update change_record set id = case id when 2 then -3 when 3 then -2 else id end',
        'update change_record set id = abs(id)',
      ],
    ],
    [
      'Entry 1 of the record does not fit: it is the first one, and holds a wrong hash.',
      [`update change_record set previous_hash = '' where id = 1`],
    ],
    ['Entry 2 of the record is missing.', ['delete from change_record where id = 2']],
    ...[
      `country = 'UG'`,
      `suspended_at = 1`,
      `suspended_at = 1, closed_at = 1`,
      `name = 'Boda'`,
      `client_id = 'AAAAAAAAAAAAAAAA'`,
      `tokens_valid_from = 1`,
    ].map((values): [string, string[]] => [unrecorded, [`update partners set ${values} ${ofAcme}`]]),
    // The newest entry that has a client ID counts.
    [
      unrecorded,
      [
        'update change_record set client_id = null where id = 5',
        `update partners set client_id = 'AAAAAAAAAAAAAAAA' ${ofAcme}`,
      ],
    ],
    ...[
      `update partner_secrets set hash = '$pbkdf2-sha256$x' where partner_id = ${acmeId}`,
      `insert into partner_secrets (partner_id, hash, created_at)
         select partner_id, '$pbkdf2-sha256$x', created_at from partner_secrets where partner_id = ${acmeId}`,
      `insert into partner_secrets (partner_id, hash, created_at) values (${acmeId}, '$pbkdf2-sha256$x', 1)`,
    ].map((statement): [string, string[]] => [unrecorded, [statement]]),
  ])('%s After %j', async (problem, changes) => {
    await fill()
    await verifyChangeRecord(store)
    await editRecords(env.DB, ...changes)
    expect(await readProblem()).toBe(problem)
  })

  test('compares a hash that was kept: a record grows, and is never written again or cut off', async () => {
    await insertKeyEntries(2)
    const kept = await verifyChangeRecord(store)
    const findProblem = () => findRecordProblem(verifyChangeRecord(store, kept))
    const write = async (count: number, actor: string) => {
      await editRecords(env.DB, 'delete from change_record')
      await insertKeyEntries(count, { ...attribution, actor })
    }
    await write(3, attribution.actor)
    expect(await findProblem()).toBeUndefined()
    const rewritten = 'Entry 2 of the record, or one before, was changed after its hash was kept.'
    for (const count of [2, 3]) {
      await write(count, 'somebody')
      expect([count, await readProblem(), await findProblem()]).toEqual([count, undefined, rewritten])
    }
    for (const count of [0, 1]) {
      await write(count, attribution.actor)
      const cutOff = `The record ends with entry ${count}. It had 2 when its hash was kept.`
      expect([count, await readProblem(), await findProblem()]).toEqual([count, undefined, cutOff])
    }
  })

  test('reads the record in pages', async () => {
    const entries = await insertKeyEntries(2001)
    const prepare = vi.spyOn(env.DB, 'prepare')
    expect(await verifyChangeRecord(store)).toEqual({ entryCount: 2001, hash: await hashEntry(entries.at(-1)) })
    expect(prepare.mock.calls.filter(([query]) => query.startsWith('select "id"'))).toHaveLength(4)
    prepare.mockRestore()
    expect(await listKeyEntries(store, {})).toEqual(entries.toReversed())
    await editRecords(env.DB, `update change_record set actor = 'somebody' where id = 1000`)
    expect(await readProblem()).toBe(describeMismatch(1001))
  })

  describe('names a partner whose secret was put back', () => {
    /** Ends the newest of two secrets, and puts it in place of the new one. */
    const later = 'unixepoch() + 60'
    const putBack = async (end: () => Promise<unknown>, expiresAt: string) => {
      await create()
      await rotate(60)
      const newest = 'id = (select max(id) from partner_secrets)'
      const old = `select hash, created_at from partner_secrets where ${newest}`
      const [secret = []] = await env.DB.prepare(old).raw()
      await end()
      await verifyChangeRecord(store)
      const sql = `update partner_secrets set hash = ?, created_at = ?, expires_at = ${expiresAt} where ${newest}`
      await env.DB.prepare(sql)
        .bind(...secret)
        .run()
    }

    test.each([
      ['a lockdown', 'null', () => lockDown()],
      ['a lockdown', later, () => lockDown()],
      ['a lockdown and a rotation', later, () => lockDown().then(() => rotate(60))],
      ['replace-newest', 'null', () => replaceNewest()],
      ['replace-newest', later, () => replaceNewest()],
      ['a rotation', 'null', () => rotate(0)],
      ['two rotations', later, () => rotate(0).then(() => rotate(0))],
    ])('after %s, with the end %s', async (_, expiresAt, end) => {
      await putBack(end, expiresAt)
      expect(await readProblem()).toBe(unrecorded)
    })
  })

  test('compares a secret from before fingerprints by its second', async () => {
    await create()
    await editRecords(env.DB, 'update change_record set client_id = null, secret_fingerprint = null')
    await change('suspend')
    expect(await verifyChangeRecord(store)).toMatchObject({ entryCount: 2 })
    await env.DB.prepare('update partner_secrets set created_at = created_at - 1').run()
    expect(await readProblem()).toBe(unrecorded)
  })

  test.each([
    ['whose last entry lost its fingerprint', 'update change_record set secret_fingerprint = null where id = 2'],
    ['that was created without an entry', 'delete from change_record'],
  ])('names a partner %s', async (_, statement) => {
    await create()
    await rotate(0)
    await editRecords(env.DB, statement)
    expect(await readProblem()).toBe(unrecorded)
  })
})

describe('a database from before fingerprints', () => {
  const outdated = env.TEST_MIGRATIONS.filter(({ name }) => name < '0004')
  beforeEach(async () => {
    await reset()
    await applyD1Migrations(env.DB, outdated)
    // As the command line of that time created a partner.
    await env.DB.prepare(
      `insert into change_requests (kind, partner, name, country, client_id, secret_hash, id, previous_hash, actor, command)
       values ('create', 'acme', 'Acme', 'KE', 'AAAAAAAAAAAAAAAA', '$pbkdf2-sha256$x', 1, ?, 'amina', 'partner create')`,
    )
      .bind(await hashEntry(undefined))
      .run()
  })
  afterEach(emptyStores)

  test('does not vouch for a secret that was replaced after the migration', async () => {
    await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
    await lockDown()
    await verifyChangeRecord(store)
    await env.DB.prepare(
      `update partner_secrets set hash = '$pbkdf2-sha256$y', created_at = (select changed_at from change_record where id = 1)`,
    ).run()
    expect(await readProblem()).toBe(unrecorded)
  })

  test('has an intact record after the migration, which goes on', async () => {
    await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
    expect(await verifyChangeRecord(store)).toMatchObject({ entryCount: 1 })
    await rotate(60)
    await change('end-tokens')
    expect(await verifyChangeRecord(store)).toMatchObject({ entryCount: 3 })
    expect((await listEntries()).map(({ clientId }) => clientId)).toEqual([
      'AAAAAAAAAAAAAAAA',
      'AAAAAAAAAAAAAAAA',
      null,
    ])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['suspend', () => change('suspend')],
    ['rotate', () => rotate(60)],
    ['--verify', () => verifyChangeRecord(store)],
  ])('is not migrated: %s fails as such, and changes nothing', async (_, work) => {
    const read = () => env.DB.prepare('select * from partners, change_record').all()
    const { results } = await read()
    let error: unknown
    const copy = getPartnerKey('AAAAAAAAAAAAAAAA')
    const left = await listKeysAfter(env.CATALOG_CACHE, [copy], async () => {
      error = await work().catch((failure: unknown) => failure)
    })
    expect(left).toEqual([copy])
    expect(isCausedBy(error, outdatedSchema)).toBe(true)
    expect(warnings).toEqual([])
    expect((await read()).results).toEqual(results)
  })
})

test.each([
  'update change_record set note = null',
  'delete from change_record',
  `replace into change_record (id, changed_at, actor, command, kind, kid, previous_hash)
     values (1, 0, '', '', 'keys-drop', '', '')`,
  `insert into change_record (id, changed_at, actor, command, kind, kid, previous_hash)
     values (9, 0, '', '', 'keys-drop', '', '')`,
])('the database refuses: %s', async (statement) => {
  await create()
  await expect(env.DB.prepare(statement).run()).rejects.toThrow(/append_only|entry_order/)
  expect(await listKinds()).toEqual(['create'])
})

test.each(['suspend', 'resume', 'close'] as const)('the database refuses to %s a closed partner', async (kind) => {
  await create()
  await change('close')
  const attempt = writeRecorded(store, attribution, async () => ({ kind, partner: 'acme' }))
  expect(findRefusal(await attempt.catch((error: unknown) => error))).toBe('partner_closed')
  expect(await listKinds()).toEqual(['close', 'create'])
})

test('the database refuses a change of a partner that does not exist', async () => {
  const attempt = writeRecorded(store, attribution, async () => ({ kind: 'suspend', partner: 'nobody' }))
  const error: unknown = await attempt.catch((reason: unknown) => reason)
  expect(isCausedBy(error, 'CHECK constraint failed')).toBe(true)
})
