import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { securityEmail } from '../../src/api/promises.ts'
import { buildSite, parseSiteOrigin } from '../../src/site/build-site.ts'
import { createFolder } from '../support/temporary-folder.ts'

describe('the origin of the service', async () => {
  const origin = 'https://plans.example.org'
  const unnamed = await readSite('')
  const named = await readSite(origin)

  test('is in no link and in no file for programs if the build does not know it', () => {
    const links = Object.values(unnamed).flatMap(
      (text) => text.match(/(\]\(|href="|Address: )https:..catalog.*/g) ?? [],
    )
    expect(links).toEqual([])
    expect(unnamed['tokens.md']).toMatch(/^# Tokens\n\nAddress: \/tokens\n[^]*\]\(\/errors\.md/)
    expect(unnamed['tokens.html']).not.toContain('rel="canonical"')
    expect(unnamed['llms.txt']).toContain('](/tokens.md)')
    // Generators make `bigint` of int64, which JSON.stringify refuses.
    expect(unnamed['openapi.json']).not.toContain('int64')
    expect(unnamed['openapi.json']).toBe(readFileSync('src/openapi/openapi.json', 'utf8'))
    expect(unnamed['robots.txt']).not.toContain('Sitemap')
    expect(unnamed['.well-known/security.txt']).not.toMatch(/Canonical|Policy/)
    expect(Object.keys(named).filter((name) => !(name in unnamed))).toEqual([
      '.well-known/oauth-authorization-server',
      'sitemap.xml',
    ])
  })

  test('the links of Markdown pages lead to headings', () => {
    const pages = Object.entries(unnamed).filter(([name]) => name.endsWith('.md'))
    const slug = (heading: string) =>
      heading
        .toLowerCase()
        .replaceAll(/[^a-z0-9_]+/g, '-')
        .replaceAll(/^-|-$/g, '')
    const anchors = new Set(
      pages.flatMap(([name, text]) =>
        [...text.matchAll(/^#+ (.*)$|<a id="(.*)">/gm)].map(([, heading = '', id = slug(heading)]) => `${name}#${id}`),
      ),
    )
    const links = pages.flatMap(([name, text]) =>
      [...text.matchAll(/\]\((?:\/(\w+\.md))?#([^)]+)\)/g)].map(([, page = name, id]) => `${page}#${id}`),
    )
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter((link) => !anchors.has(link))).toEqual([])
  })

  test('is in files for programs and in examples if the build knows it', () => {
    expect(named['tokens.md']).toContain(` ${origin}/api/v3/partners/auth`)
    expect(named['tokens.html']).toContain(`<link rel="canonical" href="${origin}/tokens" />`)
    expect(named['llms.txt']).toContain(`](${origin}/tokens.md)`)
    // For somebody who has no other file.
    for (const text of [`${origin}/api/v3/partners/auth`, '| `partialWithdrawable` |', '`rate_limited`'])
      expect(named['llms.txt']).toContain(text)
    expect(JSON.parse(String(named['openapi.json']))).toMatchObject({
      servers: [{ url: origin }],
      // Postman's and Bruno's importers take the first, and fill in its address of the token endpoint.
      paths: { '/api/v3/partners/{shortName}/plans': { get: { security: [{ oauth2: [] }, { accessToken: [] }] } } },
      components: {
        securitySchemes: { oauth2: { flows: { clientCredentials: { tokenUrl: `${origin}/api/v3/partners/auth` } } } },
      },
    })
    expect(named['robots.txt']).toContain(`Sitemap: ${origin}/sitemap.xml\n`)
    expect(named['sitemap.xml']).toContain(`<loc>${origin}/tokens</loc>`)
    expect(named['changes.xml']).toMatch(/<entry>[^]*<title>Version 3\.0\.0<\/title>/)
    const securityTxt = named['.well-known/security.txt'] ?? ''
    for (const line of [`Policy: ${origin}/support#security`, `Contact: mailto:${securityEmail}`])
      expect(securityTxt).toContain(`${line}\n`)
    expect(Date.parse(/^Expires: (.*)$/m.exec(securityTxt)?.[1] ?? '')).toBeGreaterThan(Date.now() + 300 * 86_400_000)
    expect(JSON.parse(String(named['.well-known/oauth-authorization-server']))).toMatchObject({
      issuer: origin,
      token_endpoint: `${origin}/api/v3/partners/auth`,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
    })
  })
})

/** @returns the files of a site by name. */
async function readSite(origin: string): Promise<Record<string, string>> {
  const folder = await createFolder(afterAll)
  await buildSite(folder, origin)
  const names = globSync('**/*.{html,json,md,txt,xml}', { cwd: folder }).concat(
    globSync('.well-known/*', { cwd: folder }),
  )
  return Object.fromEntries(names.toSorted().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

// deploy.mocks.test.ts has the rules of an origin.
test('SITE_ORIGIN is exactly an origin, or empty', () => {
  for (const value of ['', 'https://api.real.test:8443']) expect(parseSiteOrigin(value)).toBe(value)
  for (const value of ['https://api.real.test/', 'http://api.real.test']) {
    expect(() => parseSiteOrigin(value)).toThrow(`it is ${value}.`)
  }
})
