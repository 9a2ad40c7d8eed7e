import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { formatFeed, readChanges } from '../../src/site/change-history.ts'

test('the newest change has the version of openapi.json, and every entry of the feed its own ID', async () => {
  const text = await readFile(join(import.meta.dirname, '../../src/openapi/openapi.json'), 'utf8')
  const { info }: { info: { version: string } } = JSON.parse(text)
  expect(readChanges()[0].version).toBe(info.version)

  const feed = await formatFeed('https://catalog.example.com')
  const ids = [...feed.matchAll(/<entry>[^]*?<id>(.*?)<\/id>/g)].map(([, id]) => id)
  expect(ids.length).toBe(readChanges().length)
  expect(new Set(ids).size).toBe(ids.length)
})
