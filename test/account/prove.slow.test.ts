// npm run prove against the account in a box: from start to end, refused, failed and interrupted.
import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { beforeAll, expect, test, vi } from 'vitest'
import { accountId, apiToken, weakToken } from './account.ts'
import { useDashboard } from './dashboard.ts'
import { useOperator, workerName } from './operator.ts'
import type { CommandResult } from './page-commands.ts'

const operator = useOperator([])
const name = workerName('proof')

const setUp = `export CLOUDFLARE_API_TOKEN=${apiToken} CLOUDFLARE_ACCOUNT_ID=${accountId} PROOF_WEAK_TOKEN=${weakToken}`
const flags = '--env proof --key-wait 0 --report report.md'
const prove = `npm run -s prove -- ${flags}`
const deletions = [
  `npx wrangler delete --name ${name} --force`,
  `npx wrangler kv namespace delete ${name} --skip-confirmation`,
  `npx wrangler d1 delete ${name} --skip-confirmation`,
]

beforeAll(() => operator().follow(setUp))

/** Moves the report away. */
const readReport = () => operator().follow('cat report.md && rm report.md')

function expectEmptyAccount(): void {
  const { account } = operator()
  const left = [account.databases, account.namespaces, account.workers].flatMap((map) => [...map.keys()])
  expect(left).toEqual([])
}

async function expectSameConfiguration(): Promise<void> {
  expect(await operator().follow('cat wrangler.toml')).toBe(await readFile('wrangler.toml', 'utf8'))
}

/** Waits until the account got a call since then. */
async function waitForCall(pattern: RegExp): Promise<void> {
  const { account } = operator()
  const known = account.calls.length
  await vi.waitUntil(() => account.calls.slice(known).some((call) => pattern.test(call)), { timeout: 240_000 })
}

test('a new account is told what it lacks', async () => {
  const { account, type } = operator()
  const { code, output } = await type(prove)
  expect([code, useDashboard(account.dashboard, output)]).toEqual([2, [expect.stringContaining('/onboarding')]])
  expect(await readReport()).toContain('**The proof is not complete.** 0 steps were done.')
  expectEmptyAccount()
})

test('an environment with partners is refused, and nothing is changed', async () => {
  const { account, follow, type } = operator()
  await follow('npm run -s provision -- --env proof')
  await follow('npm run -s ops -- partner create --short-name acme --name Acme --country KE --remote --env proof')
  const known = account.calls.length
  const { code, output } = await type(prove)
  expect([code, output]).toEqual([2, expect.stringContaining('The environment proof has partners (1)')])
  expect(output).not.toContain('npx wrangler')
  const changes = account.calls.slice(known).filter((call) => !/^GET |^POST .*\/raw$/.test(call))
  expect(changes).toEqual([])
  await follow(deletions[0] ?? '')
  expect([...account.workers]).toEqual([])
  account.namespaces.clear()
  account.databases.clear()
  await follow('git checkout --quiet wrangler.toml')
})

test('after a failure, what was made is deleted, and what can’t be deleted is named', async () => {
  const { account, follow, type } = operator()
  const call = /^DELETE \/storage\/kv\/namespaces\/\w+$/
  account.failure = { call, status: 400, message: 'not today', isPermanent: true }
  const { code, output } = await type(prove)
  account.failure = undefined
  const report = await readReport()
  expect(code).toBe(2)
  expect(useDashboard(account.dashboard, output)).toEqual([expect.stringContaining('/analytics-engine')])
  expect(report).toContain('**The proof is not complete.** 3 steps were done. Then: wrangler deploy failed')
  for (const text of [output, report]) expect(text).toContain(deletions[1])
  expect([account.databases.size, account.namespaces.size, account.workers.size]).toEqual([0, 1, 0])
  await follow(deletions[1] ?? '')
  expectEmptyAccount()
  await expectSameConfiguration()
})

test('the proof runs from start to end, writes a report, and deletes what it made', async () => {
  const { follow, runtime } = operator()
  // Once the partner is suspended, new isolates answer: the others keep what they know for a minute.
  const restarted = waitForCall(/^DELETE .*\/bulk$/).then(() => runtime.addNamespace('restart'))
  const output = await follow(prove)
  await restarted
  expect(output).toContain('13 passed, 0 failed')
  const report = await readReport()
  expect(report).toContain('**The proof is complete.**')
  expect(report).toContain('which is **not Cloudflare**')
  expect(report).toMatch(/^- Everything that it made is deleted\./m)
  expect(report.match(/^\| .* \| [\d.]+ \| done \|$/gm)).toHaveLength(11)
  // The stand-in is not Cloudflare: it compresses nothing, and allows longer values.
  expect(report.match(/(?<=^- \*\*Differs:\*\* ).*?\./gm)).toEqual([
    'A value has at most about 2,000,000 bytes.',
    'Cloudflare compresses lists, and 304 works with the ETag that the client then gets.',
  ])
  expect(report).not.toContain('**Failed:**')
  expect(report).not.toMatch(/eyJ|pcs_/)
  for (const secret of [apiToken, weakToken]) expect(report).not.toContain(secret)
  expectEmptyAccount()
  await expectSameConfiguration()
})

/** Starts the proof, and interrupts it when the database is made. @param interrupt sends a signal to it. */
async function interruptProof(signals: (interrupt: () => Promise<string>) => Promise<unknown>): Promise<CommandResult> {
  const { follow, type } = operator()
  const made = waitForCall(/^POST \/d1\/database$/)
  const running = type(`echo $$ > pid; exec node src/ops/prove.ts ${flags}`)
  await made
  await signals(() => follow('kill -INT "$(cat pid)"'))
  return running
}

test('an interruption deletes what was made', async () => {
  // npm hands on the signal that the terminal has already sent.
  const { code, output } = await interruptProof(async (interrupt) => {
    await interrupt()
    await interrupt()
  })
  expect([code, output]).toEqual([2, expect.stringContaining('It was interrupted.')])
  expect(await readReport()).toContain('**The proof is not complete.** 0 steps were done. Then: It was interrupted.')
  expectEmptyAccount()
  await expectSameConfiguration()
})

test('a second interruption says what is left', async () => {
  const { account, follow } = operator()
  const { code, output } = await interruptProof(async (interrupt) => {
    // The deletion waits.
    account.failure = { call: /^DELETE /, status: 429, message: 'later', retryAfterSeconds: 60, isPermanent: true }
    await interrupt()
    await setTimeout(2500)
    await interrupt()
  })
  account.failure = undefined
  expect([code, output]).toEqual([2, expect.stringContaining(`the database ${name}: ${deletions[2]}`)])
  await vi.waitUntil(() => account.databases.size === 1)
  await follow(deletions[2] ?? '')
  expectEmptyAccount()
  await expectSameConfiguration()
})
