import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clientVersion } from '../../src/site/client/investment-plans.mts'
import { formatFeed, readChanges } from '../../src/site/change-history.ts'

test('the history says what changed in the clients, which have the same version', async () => {
  const python = await readFile(join(import.meta.dirname, '../../src/site/client/investment_plans.py'), 'utf8')
  expect(/^CLIENT_VERSION = "(.*)"$/m.exec(python)?.[1]).toBe(clientVersion)
  expect(readChanges().find(({ version }) => version === clientVersion)?.text).toMatch(/\bclients\b/i)
})

test('the newest change has the version of openapi.json, and every entry of the feed its own ID', async () => {
  const text = await readFile(join(import.meta.dirname, '../../src/openapi/openapi.json'), 'utf8')
  const { info }: { info: { version: string } } = JSON.parse(text)
  expect(readChanges()[0].version).toBe(info.version)

  const feed = await formatFeed('https://catalog.example.com')
  const ids = [...feed.matchAll(/<entry>[^]*?<id>(.*?)<\/id>/g)].map(([, id]) => id)
  expect(ids.length).toBe(readChanges().length)
  expect(new Set(ids).size).toBe(ids.length)
})
