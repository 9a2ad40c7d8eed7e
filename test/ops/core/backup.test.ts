// A backup is restored into an empty database, which then answers as the first one did.
import { createHash } from 'node:crypto'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { backupParts, reserveEmptyDatabase } from '../../../src/db/backup-queries.ts'
import { selectCatalogOrigin } from '../../../src/db/catalog-queries.ts'
import { verifyChangeRecord } from '../../../src/ops/core/change-record.ts'
import { readBackup } from '../../../src/ops/core/backup.ts'
import { createPartner, listPartners, changePartner, type Credentials } from '../../../src/ops/core/partner-accounts.ts'
import { findPlan } from '../../../src/ops/core/catalog-plans.ts'
import { closePlan } from '../../../src/ops/core/plan-changes.ts'
import { listPublications, verifyRecord } from '../../../src/ops/core/publication-log.ts'
import { cancelPublication } from '../../../src/ops/core/publications.ts'
import { publishDue } from '../../../src/worker/publish-due.ts'
import { makePlan } from '../../support/make-plan.ts'
import { startNewIsolate } from '../../worker/support/isolate.ts'
import { basic, requestPlans, requestToken } from '../../worker/support/requests.ts'
import { backup, emptyStores, fillDatabase, readRecords, readRows, restore } from '../support/full-database.ts'
import { interceptChanges } from '../support/test-database.ts'
import { attribution, careful, importPlans, operator, request, store } from '../support/worker-store.ts'

beforeEach(emptyStores)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** What partners get, from an isolate that remembers nothing. Time and random values are the same each time. */
async function readAnswers(credentials: readonly Credentials[], timeMs: number): Promise<unknown[]> {
  startNewIsolate()
  vi.setSystemTime(timeMs)
  let random = 0
  vi.spyOn(crypto, 'randomUUID').mockImplementation(
    () => `00000000-0000-4000-8000-${String(random++).padStart(12, '0')}`,
  )
  const answers: Response[] = []
  for (const { clientId, clientSecret, shortName } of credentials) {
    const response = await requestToken(basic(clientId, clientSecret))
    answers.push(response)
    const { access_token: token = 'none' } = await response.clone().json<{ access_token?: string }>()
    for (const query of ['', '?currency=KES', '?categoryId=1', '?fundType=none']) {
      answers.push(await requestPlans({ shortName, token, query }))
    }
  }
  vi.restoreAllMocks()
  vi.useRealTimers()
  return Promise.all(
    answers.map(async (answer) => ({
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      bytes: await answer.text(),
    })),
  )
}

test('both endpoints answer as before, byte for byte, and both records are as before', async () => {
  const credentials = await fillDatabase()
  const text = await backup()
  for (const { clientId, clientSecret } of credentials) {
    expect(text).toContain(clientId)
    expect(text).not.toContain(clientSecret)
  }
  expect(text).not.toContain('"staging"')
  const timeMs = Date.now()
  const [answers, records] = [await readAnswers(credentials, timeMs), await readRecords()]
  expect(answers).toContainEqual(expect.objectContaining({ status: 200, bytes: expect.stringContaining('plan-1') }))

  await emptyStores()
  expect(await restore(text)).toMatchObject({ environment: 'local' })

  expect(await readAnswers(credentials, timeMs)).toEqual(answers)
  expect(await readRecords()).toEqual(records)
  expect(readRows(await backup())).toBe(readRows(text))

  // The restored database goes on.
  await closePlan(store, 'plan-1', 'Sold out.', request)
  await createPartner(store, { shortName: 'next', name: 'Next', country: 'KE' }, attribution)
  await verifyRecord(store)
  expect((await verifyChangeRecord(store)).entryCount).toBe(records.verifiedRecord.entryCount + 1)
})

test('nothing is published during a restore, even if it is due', async () => {
  await fillDatabase()
  await env.DB.exec(`update publications set due_at = 60 where state = 'scheduled' and needs_approval = 0`)
  const [text, records] = [await backup(), await readRecords()]
  await emptyStores()
  const publishing = async (call: () => Promise<unknown>) => {
    await publishDue(env.DB, undefined)
    return call()
  }
  await restore(text, interceptChanges(store, publishing, 'stage'))
  expect(await readRecords()).toEqual(records)
  await publishDue(env.DB, undefined)
  expect((await findPlan(store, 'plan-2')).nonInvestableNote).toBe('Soon.')
  await verifyRecord(store)
})

test('a backup holds every table', async () => {
  const { results } = await env.DB.prepare(
    `select name from sqlite_master where type = 'table' and name not glob '_cf_*' and name not glob 'sqlite_*'`,
  ).all<{ name: string }>()
  const saved = new Set([...backupParts.map(({ table }) => table), 'catalog_revision', 'd1_migrations'])
  expect(new Set(results.map(({ name }) => name))).toEqual(saved)
})

test('a backup of a database that changes meanwhile is refused', async () => {
  await fillDatabase()
  const read = async (change: () => Promise<unknown>) => {
    let isChanged = false
    for await (const _ of readBackup(store, () => {})) {
      if (!isChanged) await change()
      isChanged = true
    }
  }
  const refusal = /^Somebody changed the database while it was read\. Nothing was written: try again\.$/
  const changes = [
    () => closePlan(store, 'plan-1', 'Sold out.', request),
    () => changePartner(store, { kind: 'suspend', partner: 'acme' }, operator),
    () => changePartner(store, { kind: 'set-contact', partner: 'boda', contact: null }, operator),
    async () => {
      const [pending] = await listPublications(store, { isPending: true })
      await cancelPublication(store, pending?.id ?? 0, attribution)
    },
    () => closePlan(careful, 'plan-1', 'Waits.', request),
  ]
  for (const change of changes) await expect(read(change)).rejects.toThrow(refusal)
})

/** @returns the backup of one plan. The database is empty then. */
async function backUpAndEmpty(): Promise<string> {
  await importPlans([makePlan({ name: 'Sold out.' })])
  const text = await backup()
  await emptyStores()
  return text
}

describe('a restore', () => {
  test.each([
    [
      'the plans',
      async () => importPlans([makePlan({ id: 9 })]),
      'plans has 1, plan_viewability has 1, publications has 1, plan_versions has 1, publication_entries has 1',
    ],
    [
      'an entry of the log',
      async () => createPartner(store, { shortName: 'other', name: 'Other', country: 'KE' }, attribution),
      'change_record has 1, partners has 1, partner_secrets has 1',
    ],
  ])('is refused when the database has %s', async (_, fill, found) => {
    const text = await backUpAndEmpty()
    await fill()
    const before = await backup()
    await expect(restore(text)).rejects.toThrow(/^The database is not empty: .*--persist-to DIR\.$/)
    await expect(restore(text)).rejects.toThrow(found)
    expect(readRows(await backup())).toBe(readRows(before))
  })

  test('takes a database in which a killed import left staged rows, also with an ID of the backup', async () => {
    const text = await backUpAndEmpty()
    await env.DB.exec(
      `insert into publications (id, state, actor, command) values (1, 'staging', 'a', 'b'); insert into plan_versions (publication_id, plan_id) values (1, 7)`,
    )
    await restore(text)
    expect(readRows(await backup())).toBe(readRows(text))
    await verifyRecord(store)
  })

  test('is refused when the file is damaged, cut off or something else', async () => {
    const text = await backUpAndEmpty()
    const damaged = /^The backup is damaged or not complete: its SHA-256 does not fit\. Use another copy\.$/
    await expect(restore(text.replace('Sold out.', 'Sold oud.'))).rejects.toThrow(damaged)
    await expect(restore(text.slice(0, -200))).rejects.toThrow(damaged)
    await expect(restore(text.split('\n').slice(0, -2).join('\n'))).rejects.toThrow(damaged)
    const other = /^The file is not a backup of this service\. Name a file that the command backup wrote\.$/
    for (const wrong of ['', '{"plans":[]}', 'x\ny']) await expect(restore(wrong)).rejects.toThrow(other)
    expect(await listPartners(store)).toEqual([])
  })

  test('is refused when the database has other migrations', async () => {
    const text = await backUpAndEmpty()
    const last = env.TEST_MIGRATIONS.at(-1)?.name ?? ''
    await env.DB.exec(`insert into d1_migrations (name) values ('9999_new.sql')`)
    await expect(restore(text)).rejects.toThrow(
      /^The backup is older than 9999_new\.sql\. Check out the code before that/,
    )
    await env.DB.exec(`delete from d1_migrations where name in ('9999_new.sql', '${last}')`)
    await expect(restore(text)).rejects.toThrow(`${last}, which this one lacks. Run: npm run -s migrate -- --local`)
  })

  test('is refused when a table has other columns, before anything is written', async () => {
    const text = await backUpAndEmpty()
    const { catalog } = await selectCatalogOrigin(store.read)
    const swapped = text.replace(/("partners":\[)("\w+"),("\w+")/, '$1$3,$2')
    const content = swapped.split('\n').slice(0, -2).join('\n')
    expect(content).not.toBe(text.split('\n').slice(0, -2).join('\n'))
    const sha256 = createHash('sha256').update(`${content}\n`).digest('hex')
    await expect(restore(`${content}\n${JSON.stringify({ sha256 })}\n`)).rejects.toThrow(
      'The backup has other columns, or another order of them, in partners. Restore it with the code that wrote it.',
    )
    expect((await selectCatalogOrigin(store.read)).catalog).toBe(catalog)
  })

  test('has the same effect when the store repeats each of its statements', async () => {
    const text = await backUpAndEmpty()
    const repeat = async (call: () => Promise<unknown>) => {
      await call()
      return call()
    }
    await restore(text, interceptChanges(store, repeat, 'stage'))
    expect(readRows(await backup())).toBe(readRows(text))
  })

  test('of another backup is refused while one is not complete', async () => {
    const text = await backUpAndEmpty()
    await reserveEmptyDatabase(store.read, 'another', 1)
    await expect(restore(text)).rejects.toThrow(/^A restore of another backup into this database is not complete\./)
    expect((await selectCatalogOrigin(store.read)).catalog).toBe('restoring another')
  })
})
