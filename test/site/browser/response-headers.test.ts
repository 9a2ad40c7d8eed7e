import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, inject, test } from 'vitest'

const { origin } = inject('site')
const samplesFolder = resolve(import.meta.dirname, '../../../src/site/samples')

test('every file has its content security policy, and samples and client are served as text', async () => {
  const samples = (await readdir(samplesFolder)).map((file) => join('/samples', file))
  const sources = [...samples, '/client/investment-plans.ts']
  const formatPolicy = (changes: Record<string, string> = {}) =>
    Object.entries({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': "'self'",
      'font-src': "'self'",
      'img-src': "'self'",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
      ...changes,
    })
      .map(([name, value]) => `${name} ${value}`)
      .join('; ')
  const emptyStyle = `'sha256-${createHash('sha256').update('').digest('base64')}'`
  const policies: Record<string, string> = {
    '/plans': formatPolicy({ 'img-src': "'self' https:" }),
    '/reference': formatPolicy({
      'style-src': `'self' ${emptyStyle}`,
      'font-src': "'self' data:",
      'img-src': "'self' data:",
    }),
  }
  for (const path of ['/', '/try', '/plans', '/reference', '/styles.css', '/redoc.js', '/openapi.json', ...sources]) {
    const { headers } = await fetch(origin + path)
    expect({
      path,
      policy: headers.get('Content-Security-Policy'),
      transport: headers.get('Strict-Transport-Security'),
      sniffing: headers.get('X-Content-Type-Options'),
      referrer: headers.get('Referrer-Policy'),
      isText: headers.get('Content-Type') === 'text/plain; charset=utf-8',
    }).toEqual({
      path,
      policy: policies[path] ?? formatPolicy(),
      transport: 'max-age=31536000',
      sniffing: 'nosniff',
      referrer: 'no-referrer',
      isText: sources.includes(path),
    })
  }
})

test('a path without a file returns the 404 of the API', async () => {
  const response = await fetch(`${origin}/nothing`)
  expect([response.status, await response.json()]).toEqual([404, expect.objectContaining({ error: 'not_found' })])
})
