// Pages name a promise of src/api/promises.ts where their readers need it. The others link to it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as promises from '../src/api/promises.ts'

const minutes = promises.freshnessSeconds / 60
const minutesInWords = ['zero', 'one', 'two', 'three', 'four', 'five'][minutes]
const hours = promises.staleIfErrorHours

const named: [file: string, ...texts: string[]][] = [
  ['src/ops/README.md', `within ${minutesInWords} minutes`],
  ['src/worker/cache/README.md', `${hours} h`],
  ['src/worker/DEPLOY.md', `applies within ${minutesInWords} minutes`],
  ['src/worker/ONCALL.md', `which last ${hours} hours`],
  [
    '.github/SECURITY.md',
    promises.securityEmail,
    `at most ${minutesInWords} minutes old`,
    `| plan lists | ${hours} hours |`,
  ],
]

test.each(named)('%s names each promise as it is', (file, ...texts) => {
  const page = readFileSync(join(import.meta.dirname, '..', file), 'utf8')
  expect(texts.filter((text) => !page.includes(text))).toEqual([])
})
