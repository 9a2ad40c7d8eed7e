import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, inject, test } from 'vitest'
import { visit } from './visit.ts'

const { origin } = inject('site')
const samplesFolder = resolve(import.meta.dirname, '../../../src/site/samples')

test('every file has the same content security policy, and samples and client are served as text', async () => {
  const samples = (await readdir(samplesFolder)).map((file) => join('/samples', file))
  const sources = [...samples, '/client/investment-plans.mts', '/client/sync.py']
  const expected = {
    'Content-Security-Policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'Strict-Transport-Security': 'max-age=31536000',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  }
  for (const path of ['/', '/try', '/reference', '/styles.css', '/openapi.json', ...sources]) {
    const { headers } = await fetch(origin + path)
    const isText = headers.get('Content-Type') === 'text/plain; charset=utf-8'
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]))
    expect({ path, isText, ...found }).toEqual({ path, isText: sources.includes(path), ...expected })
  }
})

test('the files for programs have their types, and pages as Markdown name their address', async () => {
  const read = async (path: string) => {
    const response = await fetch(origin + path)
    return { type: response.headers.get('Content-Type'), text: await response.text() }
  }
  const pages = [...(await read('/llms.txt')).text.matchAll(/\(http:\/\/[^/)]+(\/[\w-]+\.md)\)/g)].map(
    ([, path = '']) => path,
  )
  const types = {
    '/.well-known/oauth-authorization-server': 'application/json',
    '/changes.xml': 'application/atom+xml; charset=utf-8',
    '/favicon.ico': expect.stringMatching(/^image\/.*icon$/) as string,
    ...Object.fromEntries(pages.map((path) => [path, 'text/markdown; charset=utf-8'])),
  }
  for (const [path, type] of Object.entries(types))
    expect({ path, type: (await read(path)).type }).toEqual({ path, type })

  expect(pages).toContain('/tokens.md')
  for (const path of pages) {
    const { text } = await read(path)
    expect(text).toMatch(/^# .*\n\nAddress: \/\S*\n/)
    expect(text).not.toMatch(/^(#+) .*\n\n+\1 /m)
  }
})

test('a path without a file returns a page that leads home, and on paths of the API its 404', async () => {
  await visit('/nothing', async ({ page }) => {
    expect(await page.getByRole('heading').innerText()).toBe('Page not found')
    await page.getByRole('link', { name: 'start page' }).click()
    expect(new URL(page.url()).pathname).toBe('/')
    const nowhere = await page.goto('/no/where')
    expect(nowhere?.status()).toBe(404)
    expect(await nowhere?.allHeaders()).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'") as string,
      'cache-control': 'no-store',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    })
    for (const path of ['/api', '/api/nothing', '//api/nothing']) {
      const api = await page.goto(origin + path)
      expect(api?.status()).toBe(404)
      expect(await api?.json()).toEqual(expect.objectContaining({ error: 'not_found' }))
    }
  })
})

test('programs get JSON on every path without a file, whatever the method, and are never redirected', async () => {
  const paths = ['/api', '/api/', '//api/v3/partners/auth', '/API/v3/partners/auth', '/nothing', '//nothing/', '/%ff']
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PROPFIND']) {
    for (const path of paths) {
      const response = await fetch(origin + path, { method, redirect: 'manual' })
      const text = await response.text()
      const { error } = text === '' ? { error: '' } : (JSON.parse(text) as { error: string })
      const type = response.headers.get('Content-Type')
      expect({ method, path, status: response.status, type, error }).toEqual({
        method,
        path,
        status: 404,
        type: 'application/json',
        error: method === 'HEAD' ? '' : 'not_found',
      })
      expect(response.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  }
})
