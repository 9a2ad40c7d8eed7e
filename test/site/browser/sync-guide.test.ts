// Runs the sync jobs of the guide as a partner does: downloaded from the site, with the client beside them, from the line for cron.
import { readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'
import { runFile } from '../../support/run-file.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { builtOrigin } from './provided-site.ts'

const { origin, partners } = inject('site')
const { demo } = partners
const sh = (command: string, options: object) => runFile('sh', ['-c', command], options)

/** Returns the first block of this language that contains the text. */
function findBlock(guide: string, language: string, text: string): string {
  const blocks = [...guide.matchAll(/```(\w+)\n([^]*?)```/g)]
  const code = blocks.find(([, name, block = '']) => name === language && block.includes(text))?.[2]
  if (code === undefined) throw new Error(`sync.md has no ${language} with ${text}.`)
  return code.replaceAll(builtOrigin, origin)
}

interface Copy {
  etag: string
  plans: object[]
  removed: object[]
}

test.each([
  ['python', 'sync.py', 'python3'],
  ['javascript', 'sync.mjs', process.execPath],
])(
  'the sync job in %s offers every plan once, keeps removed plans, and stops before it removes most',
  async (...names) => {
    const [language, file, interpreter] = names
    const folder = await createFolder()
    const guide = await (await fetch(`${origin}/sync.md`)).text()
    // As `npm init -y` writes it.
    await writeFile(join(folder, 'package.json'), '{ "type": "commonjs" }')
    const env = { PATH: process.env['PATH'], API: origin, NODE_NO_WARNINGS: '1' }
    const [download = ''] = findBlock(guide, 'sh', file).split('\n')
    await sh(download, { cwd: folder, env })
    expect(findBlock(guide, language, 'removedAt')).toBe(await readFile(join(folder, file), 'utf8'))
    const credentials = { CLIENT_ID: demo.clientId, CLIENT_SECRET: demo.clientSecret, SHORT_NAME: demo.shortName }
    const writeCredentials = findBlock(guide, 'sh', 'credentials.env').replace('/srv/plans', folder)
    await sh(writeCredentials, { env: { ...env, ...credentials } })
    expect((await stat(join(folder, 'credentials.env'))).mode & 0o777).toBe(0o600)

    const line = findBlock(guide, 'text', 'credentials.env')
      .replace('>> sync.log 2>&1', '')
      .replace('/srv/plans', folder)
    const [, command = ''] = /^\d+ \* \* \* \* (.*)$/m.exec(line) ?? []
    let log = ''
    const sync = async (...args: string[]) => {
      const output = await sh(command.replace('python3 sync.py', [interpreter, file, ...args].join(' ')), { env })
      log = output.stderr
      return output.stdout.split('\n').filter(Boolean)
    }
    const copyFile = join(folder, 'plans.json')
    const readCopy = async (): Promise<Copy> => JSON.parse(await readFile(copyFile, 'utf8'))

    const { etag, plans } = await new InvestmentPlansClient({ baseUrl: origin, ...demo }).fetchList()
    expect(await sync()).toEqual(plans.map(({ identifier }) => `show ${identifier}`))
    expect(await readCopy()).toEqual({ etag, plans, removed: [] })

    // A 304 writes the file, too.
    await utimes(copyFile, 0, 0)
    expect(await sync()).toEqual([])
    expect((await stat(copyFile)).mtimeMs).toBeGreaterThan(0)
    expect(await readCopy()).toEqual({ etag, plans, removed: [] })
    expect(log).toMatch(/^20\S+ 200 \S*\/auth request [0-9a-f-]{36}\n20\S+ 304 \S+\/plans request [0-9a-f-]{36}\n$/)

    // A plan that is listed again, one that has changed, one that is being removed, and one that was removed before.
    const [first = { identifier: '' }, second = first, ...others] = plans
    const removedAt = '2026-01-01T00:00:00+00:00'
    const old = { ...first, identifier: 'old', removedAt }
    const before = {
      etag: '"before"',
      plans: [{ ...second, name: 'Old name' }, ...others, { ...first, identifier: 'new' }],
      removed: [{ ...first, removedAt }, old],
    }
    await writeFile(copyFile, JSON.stringify(before))
    expect(await sync()).toEqual([`show ${first.identifier}`, `update ${second.identifier}`, 'stop offering new'])
    const after = await readCopy()
    const now = expect.stringMatching(/^20\d\d-.*(\+00:00|Z)$/) as string
    expect(after).toEqual({ etag, plans, removed: [old, { ...first, identifier: 'new', removedAt: now }] })
    expect(await sync()).toEqual([])
    expect(await readCopy()).toEqual(after)

    // As after a move to a country with other plans.
    const copy = await readFile(copyFile, 'utf8')
    const moved = copy.replace(JSON.stringify(etag), '""').replaceAll(/(?<="identifier": ?")/g, 'old-')
    await writeFile(copyFile, moved)
    for (let attempt = 1; attempt <= 2; attempt++)
      await expect(sync()).rejects.toThrow('More than half of the plans were removed')
    expect(await readFile(copyFile, 'utf8')).toBe(moved)
    const confirmed = await sync('--confirmed')
    expect(confirmed).toContain(`show ${first.identifier}`)
    expect(confirmed).toContain(`stop offering old-${first.identifier}`)
    expect((await readdir(folder)).filter((name) => name.startsWith('plans'))).toEqual(['plans.json'])

    // A mistake is one line, and the copy stays.
    const expectFailure = async (kept: string, lines: RegExp) => {
      await writeFile(copyFile, kept)
      await expect(sync()).rejects.toMatchObject({ stderr: expect.stringMatching(lines) as string })
      expect(await readFile(copyFile, 'utf8')).toBe(kept)
    }
    const kept = await readFile(copyFile, 'utf8')
    await expectFailure('', /^20\S+ \S+\/plans\.json is damaged.*\n$/)
    const setSecret = (value: string) =>
      writeFile(join(folder, 'credentials.env'), `CLIENT_SECRET=${value}\n`, { flag: 'a' })
    await setSecret('wrong')
    await expectFailure(kept, /^20\S+ 401 \S*\/auth request .*\n20\S+ invalid_client: .*\n$/)
    await setSecret('')
    await expectFailure(kept, /^20\S+ .*client_?secret is empty\.\n$/i)
  },
)
