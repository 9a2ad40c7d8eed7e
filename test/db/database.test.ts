import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { runStatements } from '../../src/db/database.ts'

test('statements are one transaction: if the last one fails, the first one changes nothing', async () => {
  const insert = `insert into partners (short_name, name, country, client_id, created_at) values (?, 'A', 'KE', ?, 0)`
  const statements = [
    { sql: insert, params: ['one', 'AAAAAAAAAAAAAAAA'] },
    { sql: insert, params: ['two', 'AAAAAAAAAAAAAAAA'] },
  ]
  await expect(runStatements(env.DB, statements)).rejects.toThrow('UNIQUE constraint failed')
  expect(await env.DB.prepare('select count(*) as count from partners').first('count')).toBe(0)
})
