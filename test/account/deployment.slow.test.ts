// The deployment page, as printed: every command of src/worker/DEPLOY.md, in its order, from an empty account.
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { accountId, apiToken, startAccount, type Account } from './account.ts'
import { readSections, startShell, type CommandResult, type Section } from './page-commands.ts'
import { copyProject, type ProjectCopy } from './project-copy.ts'
import { startRuntime, type Runtime } from './runtime.ts'

let runtime: Runtime
let account: Account
let copy: ProjectCopy
let type: (command: string, stdin?: string) => Promise<CommandResult>
let sections: Section[]

beforeAll(async () => {
  runtime = await startRuntime()
  account = await startAccount(runtime, runtime)
  copy = await copyProject()
  await cp(join(copy.folder, 'src/catalog/demo.json'), join(copy.folder, 'your-catalog.json'))
  sections = readSections(await readFile(join(copy.folder, 'src/worker/DEPLOY.md'), 'utf8'))
  const { PATH = '' } = process.env
  type = startShell(copy.folder, {
    PATH,
    HOME: copy.home,
    CLOUDFLARE_API_BASE_URL: account.url,
    // Nothing may leave this machine.
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_HIDE_BANNER: 'true',
  })
})
afterAll(async () => {
  await account?.close()
  await runtime?.close()
  await copy?.remove()
})

/** What the reader notes on the way. */
const notes = { clientId: '', clientSecret: '', versionId: '', bookmark: '', timestamp: '' }

/** What the page leaves to the reader; and loopback in the place of Cloudflare. */
const substitutions: [RegExp, (...groups: string[]) => string | Promise<string>][] = [
  [/(?<=CLOUDFLARE_API_TOKEN=)…/, () => apiToken],
  [/(?<=CLOUDFLARE_ACCOUNT_ID=)…/, () => accountId],
  [/(?<=CLIENT_ID=)…/, () => notes.clientId],
  [/\bVERSION_ID\b/, () => notes.versionId],
  [/(?<=--bookmark=)…/, () => notes.bookmark],
  [/(?<=--timestamp=)\S+/, () => notes.timestamp],
  [/https:\/\/([\w-]+)\.SUBDOMAIN\.workers\.dev/, (_, name = '') => runtime.getUrl(name)],
  [/https:\/\/api\.cloudflare\.com\/client\/v4/, () => account.url],
]

/** Commands that don't end by themselves. */
const skipped = /^npx wrangler tail /

async function substitute(command: string): Promise<string> {
  let text = command
  for (const [placeholder, find] of substitutions) {
    const match = placeholder.exec(text)
    if (match) text = text.replace(placeholder, await find(...match))
  }
  expect(text).not.toMatch(/…|SUBDOMAIN/)
  return text
}

/** Runs a command, which must succeed, and notes what it prints. */
async function follow(command: string): Promise<string> {
  const text = await substitute(command)
  const { code, stdout, output } = await type(text, text.startsWith('read ') ? `${notes.clientSecret}\n` : '')
  expect([text, code, code === 0 ? '' : output]).toEqual([text, 0, ''])
  const find = (pattern: RegExp) => pattern.exec(stdout)?.[1] ?? ''
  if (/wrangler (d1|kv namespace) create/.test(text)) await writeId(text, find(/\b(?:database_)?id = "([\w-]+)"/))
  if (text.includes('partner create')) {
    notes.clientId = find(/\b(\w{16})\b/)
    notes.clientSecret = find(/\b(\w{40})\b/)
  }
  if (text.includes('deployments list')) {
    notes.versionId = [...stdout.matchAll(/[\da-f]{8}-[\da-f-]{27}/g)].at(-2)?.[0] ?? ''
  }
  if (text.includes('time-travel info')) notes.bookmark = find(/--bookmark=([\w-]+)/)
  return output
}

/** Writes an ID where a comment of wrangler.toml names the command that prints it. */
async function writeId(command: string, id: string): Promise<void> {
  await editFile('wrangler.toml', (text) =>
    text
      .split('\n')
      .map((line) => (line.includes(`: ${command}"`) ? line.replace(/^# (\w+) = .*$/, `$1 = "${id}"`) : line))
      .join('\n'),
  )
}

async function editFile(name: string, edit: (text: string) => string): Promise<void> {
  const file = join(copy.folder, name)
  await writeFile(file, edit(await readFile(file, 'utf8')))
}

function findSection(title: string): readonly string[] {
  const section = sections.find((one) => one.title === title)
  if (section === undefined) throw new Error(`the page has no section ${title}`)
  return section.commands.filter((command) => !skipped.test(command))
}

const workerName = (env: string) => `partner-investment-plan-catalog-${env}`

/** Calls the deployed service as the partner does. */
async function callService(env: string) {
  const api = `${await runtime.getUrl(workerName(env))}/api/v3/partners`
  const authorization = `Basic ${Buffer.from(`${notes.clientId}:${notes.clientSecret}`).toString('base64')}`
  const auth = await fetch(`${api}/auth`, { method: 'POST', headers: { Authorization: authorization } })
  const { access_token: token, expires_in: expiresIn } = (await auth.json()) as Record<string, unknown>
  const list = await fetch(`${api}/acme/plans`, { headers: { Authorization: `Bearer ${String(token)}` } })
  const { data } = (await list.json()) as { data?: { total: number } }
  return { status: list.status, expiresIn, plans: data?.total }
}

/** Reads the database of an environment, beside the service. */
async function select(env: string, sql: string): Promise<unknown[]> {
  const database = [...account.databases.values()].find(({ name }) => name === workerName(env))
  const db = await runtime.openDatabase(database?.uuid ?? '', { isWrite: false })
  return (await db.prepare(sql).all()).results
}

const suspend = 'npm run -s ops -- partner suspend acme --remote --env staging'

async function expectSuspended(suspended: 0 | 1): Promise<void> {
  expect(await select('staging', 'select suspended_at is not null as suspended from partners')).toEqual([{ suspended }])
}

async function expectTokenLifetime(seconds: number): Promise<void> {
  expect((await callService('staging')).expiresIn).toBe(seconds)
}

test('the first deploy works from an empty account, and the smoke test passes', async () => {
  const outputs = []
  for (const command of findSection('The first deploy')) outputs.push(await follow(command))
  expect(outputs.at(-1)).toContain('12 passed, 0 failed')
  expect(await callService('staging')).toEqual({ status: 200, expiresIn: 3600, plans: 11 })
  expect(account.workers.get(workerName('staging'))).toMatchObject({
    crons: ['* * * * *'],
    subdomain: { enabled: true, previews_enabled: false },
  })
})

test('a later deploy applies a migration, and changes what runs', async () => {
  await writeFile(join(copy.folder, 'migrations/9999_rehearsal.sql'), 'create table rehearsal (id integer);\n')
  await editFile('wrangler.toml', (text) => `${text}\n[env.staging.vars]\nTOKEN_LIFETIME_SECONDS = 600\n`)
  for (const command of findSection('Later deploys')) await follow(command)
  expect(await select('staging', 'select count(*) as count from rehearsal')).toEqual([{ count: 0 }])
  expect(await callService('staging')).toEqual({ status: 200, expiresIn: 600, plans: 11 })
})

test('a rollback brings the previous version back, and a restore the previous data', async () => {
  for (const command of findSection('Go back')) {
    if (command.includes('--timestamp')) {
      notes.timestamp = new Date().toISOString()
      await follow(suspend)
    }
    await follow(command)
    if (command.includes('rollback')) await expectTokenLifetime(3600)
    if (command.includes('time-travel info')) {
      await follow(suspend)
      await expectSuspended(1)
    }
    if (command.includes('time-travel restore')) await expectSuspended(0)
  }
  expect(await callService('staging')).toMatchObject({ status: 200, plans: 11 })
})

test('production is deployed in the same way, on data of its own', async () => {
  const commands = findSection('The first deploy').map((command) => command.replaceAll('staging', 'production'))
  for (const command of commands) await follow(command)
  expect(await callService('production')).toEqual({ status: 200, expiresIn: 3600, plans: 11 })
  expect([...account.databases.values()].map(({ name }) => name)).toEqual([
    workerName('staging'),
    workerName('production'),
  ])
})

test('every other command of the page works, too', async () => {
  const others = sections.filter(({ title }) => !/^(The first deploy|Later deploys|Go back)$/.test(title))
  for (const { title } of others) for (const command of findSection(title)) await follow(command)
  expect(account.questions.length).toBeGreaterThan(0)
})
