// The second step of the first deploy: an owner fills src/api/promises.ts, and all checks of the project still pass.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startShell } from './page-commands.ts'
import { copyProject, type ProjectCopy } from './project-copy.ts'

let copy: ProjectCopy
beforeAll(async () => {
  copy = await copyProject()
})
afterAll(() => copy.remove())

/** What an owner writes in the place of the project's values. */
const owned: [before: string, after: string][] = [
  ['availabilityTargetPercent = 99.9', 'availabilityTargetPercent = 99.95'],
  ['inProductionSince: string | null = null', "inProductionSince: string | null = '2027-01-15'"],
  ['breakingChangeNoticeDays = 180', 'breakingChangeNoticeDays = 365'],
  ["'Partner support'", "'Amani Plans, partner desk'"],
  ["'support@catalog.example.com'", "'partners@amani-plans.example'"],
  ["'security@catalog.example.com'", "'security-team@amani-plans.example'"],
  ['sandboxOrigin: string | null = null', "sandboxOrigin: string | null = 'https://sandbox.amani-plans.example'"],
  ['fairUsePerMinute = 60', 'fairUsePerMinute = 120'],
  [
    "'No hours and no response time are promised yet.'",
    "'Monday to Friday, 8:00 to 17:00 EAT. We answer within a day.'",
  ],
  ["'Not offered yet.'", "'Write to partners@amani-plans.example, and we add your address.'"],
]

test('all checks pass with the values of an owner', async () => {
  const file = join(copy.folder, 'src/api/promises.ts')
  const text = await readFile(file, 'utf8')
  const filled = owned.reduce((written, [before, after]) => {
    expect(written).toContain(before)
    return written.replace(before, after)
  }, text)
  await writeFile(file, filled)
  const type = startShell(copy.folder, { PATH: process.env['PATH'] ?? '', HOME: copy.home }, join(copy.home, 'shell'))
  const commit = 'git -c user.name=owner -c user.email=owner@amani-plans.example commit --quiet --allow-empty -m Owned'
  for (const command of ['git init --quiet', commit, 'npm run generate && npm run format', 'npm run check']) {
    const { code, output } = await type(command)
    expect({ command, code, end: code === 0 ? '' : output.slice(-5000) }).toEqual({ command, code: 0, end: '' })
  }
})
