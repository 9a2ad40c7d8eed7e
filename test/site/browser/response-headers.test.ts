import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, inject, test } from 'vitest'
import { securityEmail } from '../../../src/api/promises.ts'
import { visit } from './visit.ts'

const { origin } = inject('site')
const samplesFolder = resolve(import.meta.dirname, '../../../src/site/samples')

test('every file has the same content security policy, and samples and client are served as text', async () => {
  const samples = (await readdir(samplesFolder)).map((file) => join('/samples', file))
  const sources = [...samples, '/client/investment-plans.mts', '/client/sync.py']
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  for (const path of ['/', '/try', '/reference', '/styles.css', '/openapi.json', ...sources]) {
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
      policy,
      transport: 'max-age=31536000',
      sniffing: 'nosniff',
      referrer: 'no-referrer',
      isText: sources.includes(path),
    })
  }
})

test('the files for programs have their types, and name the token endpoint and the contact', async () => {
  const read = async (path: string) => {
    const response = await fetch(origin + path)
    return { type: response.headers.get('Content-Type'), text: await response.text() }
  }
  const { text: securityTxt } = await read('/.well-known/security.txt')
  expect(securityTxt).toContain(`Contact: mailto:${securityEmail}\n`)
  expect(securityTxt).toMatch(/^Policy: \S+\/promises#security$/m)
  expect(Date.parse(/^Expires: (.*)$/m.exec(securityTxt)?.[1] ?? '')).toBeGreaterThan(Date.now() + 300 * 86_400_000)

  const server = await read('/.well-known/oauth-authorization-server')
  expect(server.type).toBe('application/json')
  expect(JSON.parse(server.text)).toMatchObject({
    token_endpoint: expect.stringMatching(/\/api\/v3\/partners\/auth$/) as string,
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
  })

  expect((await read('/robots.txt')).text).toMatch(/^Sitemap: \S+\/sitemap\.xml$/m)
  expect((await read('/sitemap.xml')).text).toMatch(/<loc>https:\/\/[^<]*\/tokens<\/loc>/)
  const icon = await fetch(`${origin}/favicon.ico`)
  expect([icon.headers.get('Content-Type'), (await icon.bytes()).subarray(0, 4)]).toEqual([
    expect.stringMatching(/^image\/.*icon$/),
    Uint8Array.of(0, 0, 1, 0),
  ])

  const feed = await read('/changes.xml')
  expect(feed.type).toBe('application/atom+xml; charset=utf-8')
  expect(feed.text).toMatch(/<entry>[^]*<title>Version 3\.0\.0<\/title>/)

  const { text: index } = await read('/llms.txt')
  const { text: all } = await read('/llms-full.txt')
  const pages = [...index.matchAll(/\(https:\/\/[^/)]+(\/[\w-]+\.md)\)/g)].map(([, path = '']) => path)
  expect(pages).toContain('/tokens.md')
  for (const path of pages) {
    const page = await read(path)
    expect([path, page.type]).toEqual([path, 'text/markdown; charset=utf-8'])
    expect(page.text).toMatch(/^# .*\n\nAddress: \/\S*\n/)
    expect(page.text).not.toMatch(/^(#+) .*\n\n+\1 /m)
    expect(all).toContain(page.text)
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
      expect([api?.status(), await api?.json()]).toEqual([404, expect.objectContaining({ error: 'not_found' })])
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
      expect([method, path, response.status, response.headers.get('Content-Type'), error]).toEqual([
        method,
        path,
        404,
        'application/json',
        method === 'HEAD' ? '' : 'not_found',
      ])
      expect(response.headers.get('X-Request-Id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  }
})
