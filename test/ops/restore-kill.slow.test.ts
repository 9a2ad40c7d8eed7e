// A restore over Cloudflare's API, cut off at every single statement, without a transaction of the transport.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/db/database.ts'
import { makePlan } from '../support/make-plan.ts'
import { publishPlans } from '../support/publish-plans.ts'
import { useFakeCloudflare, type Outage } from './support/fake-cloudflare.ts'
import { useMemoryBindings } from './support/memory-bindings.ts'
import { runCommand } from './support/run-ops.ts'
import { emptyDatabase } from './support/test-database.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  cloudflare().isTransactional = false
})
afterAll(() => rm(folder, { recursive: true }))

const run = (...words: string[]) => runCommand([...words, '--remote', '--env', 'staging'])

async function emptyCompletely(): Promise<void> {
  await emptyDatabase(bindings())
  await bindings().DB.batch(
    ['delete from sqlite_sequence', `update catalog_revision set revision = 0, catalog = 'new'`].map((sql) =>
      bindings().DB.prepare(sql),
    ),
  )
}

async function readBackup(): Promise<{ rows: string; mode: number }> {
  const file = join(folder, 'again')
  await run('backup', file)
  const text = await readFile(file, 'utf8')
  return { rows: text.split('\n').slice(1, -2).join('\n'), mode: (await stat(file)).mode % 0o1000 }
}

describe('a restore', () => {
  const file = () => join(folder, 'backup')
  let rows = ''

  beforeAll(async () => {
    // More than one statement takes.
    const about = 'Holds treasury bills. '.repeat(400)
    const plans = Array.from({ length: 90 }, (_, id) => makePlan({ id: id + 1, about, performance1: id / 8 }))
    await publishPlans(openDatabase(bindings().DB), plans)
    for (const name of ['acme', 'boda']) {
      await run('partner', 'create', '--short-name', name, '--name', name, '--country', 'KE')
    }
    await run('partner', 'suspend', 'boda')
    await run('plan', 'close', 'plan-1', '--note', 'Later.', '--at', '2100-01-01T00:00Z')
    await run('backup', file())
    rows = (await readBackup()).rows
  })

  test('refuses a database that is not empty, and a backup is only for its owner', async () => {
    expect((await readBackup()).mode).toBe(0o600)
    for (const word of ['acme', 'suspend', 'scheduled', 'pbkdf2']) expect(rows).toContain(word)
    await run('partner', 'resume', 'boda')
    expect(await run('restore', file())).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^The database is not empty: .*: npx wrangler d1 create NAME.*\n/),
    })
    await emptyCompletely()
    await run('restore', file())
  })

  test.each<Omit<Outage, 'after'>>([
    { hasEffect: false, isPermanent: true },
    { hasEffect: true, isPermanent: true },
  ])('that is cut off at any statement continues when it runs again: %j', async (outage) => {
    let isReached = true
    for (let number = 0; isReached; number++) {
      await emptyCompletely()
      cloudflare().statements = 0
      cloudflare().outage = { after: number, ...outage }
      const cut = await run('restore', file())
      isReached = cloudflare().statements > number
      cloudflare().outage = undefined
      expect(cut.code).toBe(isReached ? 2 : 0)
      const restored = await run('restore', file())
      expect([number, restored.code, restored.stderr]).toEqual([number, 0, expect.stringMatching(/^Restored the /)])
      expect((await readBackup()).rows === rows).toBe(true)
    }
  })
})
