// Runs every command of the deployment pages, in order, from an empty account to production. Not tested is what only Cloudflare has: a
// running Worker, its site, its domain, and Time Travel.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useOperator, workerName } from './operator.ts'
import type { Section } from './page-commands.ts'

const operator = useOperator()

/** Sections with a test of their own. */
const titles = new Set(['The first deploy', 'Later deploys', 'Go back', 'Back up and restore'])

/** Commands that don't end by themselves, or that need Cloudflare. */
const skipped = /^(npx wrangler (tail|d1 time-travel)|npm run dev) /

function readSection(title: string): Section {
  const section = operator().sections.find((one) => one.title === title)
  if (section === undefined) throw new Error(`the page has no section ${title}`)
  return section
}

const findSection = (title: string) => readSection(title).commands.filter((command) => !skipped.test(command))

async function setTokenLifetime(seconds: number): Promise<void> {
  const { editFile, follow } = operator()
  const variable = `\n[env.staging.vars]\nTOKEN_LIFETIME_SECONDS = ${seconds}\n`
  await editFile('wrangler.toml', (text) => text.replace(/\n\[env\.staging\.vars\][^[]*$/, '') + variable)
  await follow(`git add --all && git commit --quiet --message "Tokens for ${seconds} s"`)
}

/** Reads or changes the database of an environment, beside the service. */
async function select(sql: string, env = 'staging'): Promise<unknown[]> {
  const { account, stores } = operator()
  const { uuid = '' } = [...account.databases.values()].find(({ name }) => name === workerName(env)) ?? {}
  const db = await stores.openDatabase(uuid)
  return (await db.prepare(sql).all()).results
}

/** Requires that the live versions get these percentages of the requests, by the token lifetime that each version is configured with. */
function expectShares(env: string, shares: Record<string, number>): void {
  const { versions = [], deployments = [] } = operator().account.workers.get(workerName(env)) ?? {}
  const live = deployments.at(-1)?.versions.map(({ version_id: id, percentage }) => {
    const { bindings = [] } = versions.find((one) => one.id === id) ?? {}
    const lifetime = bindings.find(({ name }) => name === 'TOKEN_LIFETIME_SECONDS')
    return [lifetime === undefined ? 'default' : JSON.stringify(lifetime['json']), percentage]
  })
  expect(Object.fromEntries(live ?? [])).toEqual(shares)
}

/** Runs a command that must be refused, or `doctor`, which must find a problem. Each pattern must match. @returns the output. */
async function expectRefusal(command: string, ...lines: RegExp[]): Promise<string> {
  const { code, output } = await operator().type(command)
  expect({ command, code }).toEqual({ command, code: command.includes(' doctor ') ? 3 : 2 })
  for (const line of lines) expect(output).toMatch(line)
  return output
}

const deploy = 'npm run -s deploy -- --env staging'
const keys = (words: string) => `npm run -s ops -- keys ${words} --remote --env staging`

test('the first deploy works from an empty account', async () => {
  const { account, follow, saveIds } = operator()
  await expectRefusal('npm run -s deploy', /^Required option '--env <name>' not specified/m)
  const noIds = /^wrangler\.toml lacks the database_id of DB and the id of CATALOG_CACHE in \[env\.staging\]/
  for (const command of findSection('The first deploy')) {
    if (command.includes('git commit')) {
      await expectRefusal(deploy, noIds)
      await saveIds('staging')
    }
    await follow(command)
  }
  expectShares('staging', { default: 100 })
  expect([...account.databases.values()]).toMatchObject([
    { name: workerName('staging'), primary_location_hint: 'weur', read_replication: { mode: 'auto' } },
  ])
  expect(account.workers.get(workerName('staging'))).toMatchObject({
    crons: ['* * * * *'],
    subdomain: { enabled: true, previews_enabled: false },
  })
})

test('a later deploy applies a migration, and changes what runs', async () => {
  const { editFile, follow } = operator()
  await editFile('migrations/9999_rehearsal.sql', () => 'create table rehearsal (id integer);\n')
  await expectRefusal(deploy, /^9999_rehearsal\.sql not applied\./m, /^Not everything here is committed: /m)
  await setTokenLifetime(600)
  for (const command of findSection('Later deploys')) await follow(command)
  expect(await select('select count(*) as count from rehearsal')).toEqual([{ count: 0 }])
  expectShares('staging', { 600: 100 })
})

/** Splits the commands of "Go back": up to the rollback they are about the code, then about the data. */
function findWayBack(): Record<'code' | 'data', string[]> {
  const commands = findSection('Go back')
  const end = commands.findIndex((command) => command.includes('rollback')) + 1
  return { code: commands.slice(0, end), data: commands.slice(end) }
}

test('a rollback makes the previous version live', async () => {
  await setTokenLifetime(900)
  await operator().follow(deploy)
  expectShares('staging', { 900: 100 })
  for (const command of findWayBack().code) await operator().follow(command)
  expectShares('staging', { 600: 100 })
})

test('after a rollback, keys can be rotated again when the next deploy is made', async () => {
  const { follow } = operator()
  const readRecord = () => follow('npm run -s ops -- log --keys --remote --env staging')
  const recorded = await readRecord()
  await expectRefusal(
    keys('rotate'),
    /^The secrets .* until its latest version gets all requests\.\nDeploy first: npm run deploy -- --env staging$/m,
  )
  expect(await readRecord()).toBe(recorded)
  await follow(deploy)
  await follow(keys('rotate'))
  expectShares('staging', { 900: 100 })
})

test('after the data was restored, lists are made anew, and the service is deployed', async () => {
  for (const command of findWayBack().data) await operator().follow(command)
  expectShares('staging', { 900: 100 })
})

test('a leaked key that was dropped is found after a rollback, and the next deploy drops it', async () => {
  const { account, follow } = operator()
  const [, dropped] = /^(\d+) +signs /m.exec(await follow(keys('list'))) ?? []
  const before = account.workers.get(workerName('staging'))?.versions.at(-1)
  const drop = `${keys(`drop ${dropped} --leaked`)} --yes`
  expect(await follow(drop)).toMatch(/^\d+ +signs +/m)
  await follow(`npx wrangler rollback ${before?.id} --env staging --yes`)
  expect(await follow(keys('list'))).toMatch(new RegExp(`^${dropped} +signs `, 'm'))
  const doctor = 'npm run -s ops -- doctor --remote --env staging'
  await expectRefusal(doctor, /problem +keys: .* was dropped/, /warning +keys: The next deploy changes the keys/)
  await expectRefusal(drop, /Deploy first: npm run deploy -- --env staging$/m)
  await follow(deploy)
  expect(await follow(keys('list'))).not.toContain(dropped)
  await follow(doctor)
})

test('what Cloudflare refuses, and what is lost on the way, is one line that says how to go on', async () => {
  const { account, follow } = operator()
  account.forbidden = /\/d1\//
  await expectRefusal(deploy, /^Cloudflare refuses the token \(403\): .*$/m)
  account.forbidden = undefined
  account.failure = { call: /^POST .*\/versions$/, status: 400, code: 100328, message: 'CPU limits are not supported' }
  await expectRefusal(deploy, /\[code: 100328\]/, /^wrangler deploy failed: /m)
  account.failure = { call: /^POST .*\/deployments$/, status: 0, message: '', hasEffect: true }
  await expectRefusal(deploy, /^wrangler deploy failed: /m)
  // Every request would fail.
  await setTokenLifetime(-1)
  await expectRefusal(deploy, /^TOKEN_LIFETIME_SECONDS must be an integer from 1 to 9999999999\.$/m)
  await setTokenLifetime(900)
  // Wrangler tries again by itself.
  account.failure = { call: /^POST .*\/versions$/, status: 503, message: 'overloaded' }
  await follow(deploy)
})

test('production is deployed in the same way, on data of its own', async () => {
  const { account, follow, openShell, saveIds } = operator()
  openShell()
  for (const command of findSection('The first deploy')) {
    if (command.includes('git commit')) await saveIds('production')
    await follow(command.replaceAll('staging', 'production').replace('--location weur', '--jurisdiction eu'))
  }
  expectShares('production', { default: 100 })
  expect([...account.databases.values()].map(({ name, jurisdiction }) => ({ name, jurisdiction }))).toEqual([
    { name: workerName('staging'), jurisdiction: null },
    { name: workerName('production'), jurisdiction: 'eu' },
  ])
  expect([...account.namespaces.values()].map(({ title }) => title)).toEqual(['staging', 'production'].map(workerName))
})

/** The commands of a workflow after `npm ci`, and when GitHub runs them. */
function readSteps(name: string): { command: string; condition: string }[] {
  const workflow = readFileSync(`.github/workflows/${name}.yml`, 'utf8')
  return workflow.split(/^ {6}- /m).flatMap((step) => {
    const [, command] = /^ *run: (.*)$/m.exec(step) ?? []
    const [, condition = 'success()'] = /^ *if: \$\{\{ (.*) \}\}$/m.exec(step) ?? []
    return command === undefined || command === 'npm ci' ? [] : [{ command, condition }]
  })
}

const watch = readSteps('watch')
  .map(({ command }) => command)
  .join('\n')

/** Runs the commands of nightly.yml as GitHub does. @returns the commands that failed. */
async function runNight({ isFirst = false } = {}): Promise<string[]> {
  const failed: string[] = []
  for (const { command, condition } of readSteps('nightly')) {
    const isDue = {
      'success()': failed.length === 0,
      '!cancelled()': true,
      '!inputs.first': failed.length === 0 && !isFirst,
    }[condition]
    if (isDue === undefined) throw new Error(`this test does not know the condition ${condition}`)
    if (isDue && (await operator().type(command)).code !== 0) failed.push(command)
  }
  return failed
}

test('the nightly workflow passes on the first and the second night', async () => {
  const { account, follow, type } = operator()
  await follow('export RUNNER_TEMP="$HOME" COPY_PASSPHRASE=')
  // GitHub sets a secret that is missing to an empty text.
  expect(await runNight({ isFirst: true })).toEqual([expect.stringContaining('openssl')])
  expect((await type('ls "$RUNNER_TEMP"/*.enc')).code).not.toBe(0)
  for (const command of findSection('Back up and restore')) if (command.startsWith('read ')) await follow(command)
  account.calls.length = 0
  expect(await runNight({ isFirst: true })).toEqual([])
  await follow(watch)
  // What the token of the role `watch` may do.
  const allowed =
    /^GET |^POST (\/analytics_engine\/sql|\/d1\/database\/[^/]+\/raw)$|^PUT \/storage\/kv\/namespaces\/[^/]+\/bulk$/
  expect(account.calls.filter((call) => !allowed.test(call))).toEqual([])
  await follow('npm run -s ops -- partner set smoke name=Smoke --remote --env production')
  expect(await runNight()).toEqual([])
})

test('a copy replaces a lost database', async () => {
  const { follow, saveIds } = operator()
  const replicate = findSection('The first deploy').find((command) => command.startsWith('curl')) ?? ''
  for (const command of findSection('Back up and restore')) {
    await follow(command)
    if (!command.includes('d1 create')) continue
    await saveIds('production')
    await follow('git commit --all --quiet --message "Another database"')
    await follow(replicate)
  }
  expect(await select('select count(distinct partner) as count from change_record', 'production-2')).toEqual([
    { count: 1 },
  ])
})

test('a rewritten record fails the nightly workflow', async () => {
  await select(
    "update change_record set actor = 'nobody' where id = (select max(id) from change_record)",
    'production-2',
  )
  expect(await runNight()).toEqual([expect.stringContaining('ops -- compare')])
})

test('every other command of the pages works, too', async () => {
  const { account, follow, sections } = operator()
  const others = sections.filter(({ title }) => !titles.has(title)).flatMap(({ title }) => findSection(title))
  for (const command of others) await follow(command)
  expect(account.questions.length).toBeGreaterThan(0)
})

test('after the set-up, a plain wrangler deploy deploys the same service', async () => {
  const { account, follow } = operator()
  const countVersions = () => account.workers.get(workerName('production'))?.versions.length ?? 0
  const before = countVersions()
  await follow('npx wrangler deploy --env production')
  expect(countVersions()).toBe(before + 1)
  expectShares('production', { default: 100 })
})

// app.test.ts shows what the Worker answers then.
test('without --env, wrangler deploys with empty stores that it creates, and without a key, as DEPLOY.md warns', async () => {
  const { account, stores, follow } = operator()
  await follow('npx wrangler deploy')
  const name = 'partner-investment-plan-catalog'
  const database = [...account.databases.values()].find((one) => one.name === name)
  const db = await stores.openDatabase(database?.uuid ?? '')
  expect((await db.prepare('select name from sqlite_master').all()).results).toEqual([])
  expect(account.namespaces.size).toBe(3)
  const [version] = account.workers.get(name)?.versions ?? []
  expect(version?.bindings.filter(({ type }) => type === 'secret_text')).toEqual([])
})
