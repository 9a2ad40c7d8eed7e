import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fillMarks, marks, pages } from '../src/ops/generate-pages.ts'

const texts = pages.map((page) => readFileSync(join(import.meta.dirname, '..', page), 'utf8'))

test.each(pages.map((page, index) => [page, texts[index] ?? '']))('npm run generate leaves %s as it is', (_, text) => {
  expect(text).toContain('<!-- end -->')
  expect(fillMarks(text)).toBe(text)
})

test('a page has each mark, and its text is replaced until the end', () => {
  expect(Object.keys(marks).filter((name) => !texts.some((text) => text.includes(`<!-- ${name} -->`)))).toEqual([])
  const filled = `<!-- hours -->${marks['hours']}<!-- end --> <!-- other --> <!-- hours -->${marks['hours']}<!-- end -->`
  expect(fillMarks('<!-- hours -->1\nh<!-- end --> <!-- other --> <!-- hours --><!-- end -->')).toBe(filled)
  expect(() => fillMarks('<!-- hour -->30 hours<!-- end -->')).toThrow('"hour"')
})
