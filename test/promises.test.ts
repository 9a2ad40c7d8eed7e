import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pages, repeatPromises } from '../src/ops/generate-pages.ts'

test.each([...pages])('%s repeats promises and rules as `npm run generate` writes them', (page) => {
  const text = readFileSync(join(import.meta.dirname, '..', page), 'utf8')
  expect(repeatPromises(page, text)).toBe(text)
})
