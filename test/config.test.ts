import { env } from 'cloudflare:workers'
import { expect, test, vi } from 'vitest'
import { readConfig } from '../src/config.ts'

// What a broken one does is in app.test.ts.
test('an isolate reads its configuration once', async () => {
  const importKey = vi.spyOn(crypto.subtle, 'importKey')
  const source = { ...env }
  const first = await readConfig(source)
  expect(await readConfig(source)).toBe(first)
  expect(importKey).toHaveBeenCalledTimes(1)
})
