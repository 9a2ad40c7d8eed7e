// Runs the nightly jobs of the guide as a partner does: downloaded from the site, with the client beside them.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { exampleOrigin } from '../../../src/site/example-origin.ts'
import { InvestmentPlansClient } from '../../../src/site/client/investment-plans.mts'

const { origin, partners } = inject('site')
const { demo } = partners
const run = promisify(execFile)

test.each([
  ['python', 'sync.py', 'investment_plans.py', 'python3'],
  ['js', 'sync.mjs', 'investment-plans.mts', process.execPath],
])('the nightly job in %s offers every plan once, and stops before it delists most of them', async (...names) => {
  const [language, file, client, interpreter] = names
  const folder = await mkdtemp(join(tmpdir(), 'sync-'))
  const guide = await (await fetch(`${origin}/sync.md`)).text()
  const code = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(guide)?.[1] ?? ''
  await writeFile(join(folder, file), code.replaceAll(exampleOrigin, origin))
  await writeFile(join(folder, client), await (await fetch(`${origin}/client/${client}`)).text())
  const env = {
    ...process.env,
    CLIENT_ID: demo.clientId,
    CLIENT_SECRET: demo.clientSecret,
    SHORT_NAME: demo.shortName,
    NODE_NO_WARNINGS: '1',
  }
  const sync = async (...args: string[]) => {
    const { stdout } = await run(interpreter, [file, ...args], { cwd: folder, env })
    return stdout.split('\n').filter(Boolean)
  }
  const plans = await new InvestmentPlansClient({ baseUrl: origin, ...demo }).listPlans()
  expect(await sync()).toEqual(plans.map(({ identifier }) => `offer ${identifier}`))
  expect(await sync()).toEqual([])

  // As after a move to a country with other plans.
  const copyFile = join(folder, 'plans.json')
  const copy = await readFile(copyFile, 'utf8')
  await writeFile(copyFile, copy.replaceAll(/(?<="identifier": ?")/g, 'old-'))
  for (let night = 1; night <= 2; night++) await expect(sync()).rejects.toThrow('More than half of the plans are gone')
  const confirmed = await sync('--confirmed')
  expect(confirmed).toContain(`offer ${plans[0]?.identifier}`)
  expect(confirmed).toContain(`stop offering old-${plans[0]?.identifier}`)
  await rm(join(folder, 'plans-state.json'))
  expect(await sync()).toEqual([])
  expect((await readdir(folder)).filter((name) => name.startsWith('plans')).toSorted()).toEqual([
    'plans-state.json',
    'plans.json',
  ])
  await rm(folder, { recursive: true })
})
