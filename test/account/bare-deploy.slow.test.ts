// What DEPLOY.md warns of: without --env, wrangler creates the stores that have no ID. app.test.ts shows what the Worker answers then.
import { expect, test } from 'vitest'
import { useOperator } from './operator.ts'

const operator = useOperator([])

test('a bare wrangler deploy makes empty stores, and no key', async () => {
  const { account, stores, follow } = operator()
  await follow('export CLOUDFLARE_API_TOKEN=… CLOUDFLARE_ACCOUNT_ID=…')
  await follow('npx wrangler deploy')
  const name = 'partner-investment-plan-catalog'
  const [database] = account.databases.values()
  expect(database).toMatchObject({ name })
  const db = await stores.openDatabase(database?.uuid ?? '')
  expect((await db.prepare('select name from sqlite_master').all()).results).toEqual([])
  expect(account.namespaces.size).toBe(1)
  const [version] = account.workers.get(name)?.versions ?? []
  expect(version?.bindings.filter(({ type }) => type === 'secret_text')).toEqual([])
})
