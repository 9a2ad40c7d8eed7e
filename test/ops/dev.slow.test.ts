import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { copyProject } from '../account/project-copy.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { runCommand } from './support/run-ops.ts'

const state = await createFolder(afterAll)
const port = await findFreePort()
const plans = `http://localhost:${port}/api/v3/partners/demo/plans`

// One test, as a start takes several seconds.
test('npm run dev serves, and publishes at its time, until a signal', { timeout: 300_000 }, async () => {
  // Wrangler writes to the home folder, which is not possible here.
  const server = startDev({ HOME: '/dev/null/home' })
  await vi.waitFor(() => expect(server.output()).toContain('Get a token'), { timeout: 60_000, interval: 100 })
  expect(server.output()).not.toMatch(stackFrame)

  const list = await signIn(server.output())
  expect(await list()).toMatchObject({ data: { total: 11 } })

  const [, create = ''] = /^  npm run -s ops -- (partner create .*)$/m.exec(server.output()) ?? []
  expect(await runCommand(create.split(' '))).toMatchObject({ code: 0, stdout: expect.stringContaining('EG') })

  const command = 'plan close mwamba-money-market-fund --public-note Sold --at'
  const scheduled = await runCommand([...command.split(' '), findNextMinute(), '--persist-to', state])
  expect(scheduled).toMatchObject({ code: 0, stdout: expect.stringContaining('is scheduled for') })
  const readNote = async () => {
    const { data } = await list()
    return data.plans.find(({ identifier }) => identifier === 'mwamba-money-market-fund')?.nonInvestableNote
  }
  expect(await readNote()).toBe(null)
  // An isolate asks for the revision at most once a minute, and after a response.
  await vi.waitFor(async () => expect(await readNote()).toBe('Sold'), { timeout: 180_000, interval: 1000 })
  expect(server.output()).not.toContain('automatically triggered')

  // Clients that hang up in the middle of a POST ended wrangler 4.124.
  for (let count = 0; count < 100; count++) await hangUp()
  expect((await fetch(plans, { method: 'POST', body: new URLSearchParams({ name: 'value' }) })).status).toBe(405)

  const second = startDev()
  expect(await second.ended).toEqual({ code: 2, signal: null })
  expect(second.output()).toContain(`Address already in use (localhost:${port}).`)
  expect(second.output()).not.toMatch(stackFrame)

  server.child.kill('SIGTERM')
  expect(await server.ended).toEqual({ code: 0, signal: null })
  await expect(fetch(plans)).rejects.toThrow('fetch failed')
})

// A fresh clone has no key, no database and no site.
test('a bare wrangler dev serves the same', { timeout: 300_000 }, async () => {
  const { folder, remove } = await copyProject()
  onTestFinished(remove)
  const wrangler = fileURLToPath(import.meta.resolve('wrangler'))
  const start = () => run(process.execPath, [wrangler, 'dev', '--port', String(port)], { WRANGLER_LOG: 'log' }, folder)
  const isReady = { timeout: 100_000, interval: 100 }
  const first = start()
  await vi.waitFor(() => expect(first.output()).toContain(`Ready on http://localhost:${port}`), isReady)
  const list = await signIn(first.output())
  expect(await list()).toMatchObject({ data: { total: 11 } })
  first.child.kill()
  await first.ended

  const second = start()
  await vi.waitFor(() => expect(second.output()).toContain(`Ready on http://localhost:${port}`), isReady)
  expect(second.output()).not.toContain('client secret')
  expect(await list()).toMatchObject({ data: { total: 11 } })
})

/** Gets a token with the credentials that a start printed. @returns a function that lists the plans. */
async function signIn(output: string) {
  const [, credentials = ''] = /-u (\S+)/.exec(output) ?? []
  const authorization = `Basic ${btoa(credentials)}`
  const response = await fetch(new URL('../auth', plans), { method: 'POST', headers: { authorization } })
  const { access_token: token } = (await response.json()) as { access_token: string }
  return async (): Promise<{ data: { total: number; plans: CatalogPlan[] } }> => {
    const served = await fetch(plans, { headers: { authorization: `Bearer ${token}` } })
    return served.json()
  }
}

const stackFrame = /^\s+at .*:\d+:\d+\)?$/m

function startDev(env: Record<string, string> = {}, folder = state) {
  const program = resolve(import.meta.dirname, '../../src/ops/main.mjs')
  return run(process.execPath, [program, 'dev', `--port=${port}`, `--persist-to=${folder}`], env)
}

function run(command: string, args: string[], env: Record<string, string>, cwd?: string) {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  const server = { child, output: () => stripVTControlCharacters(output), ended }
  onTestFinished(async () => {
    child.kill()
    await server.ended
  })
  return server
}

/** The start of the next minute, or of the one after it when the command line would not be ready in time. */
function findNextMinute(): string {
  const minuteMs = 60_000
  return new Date(Math.ceil((Date.now() + 15_000) / minuteMs) * minuteMs).toISOString()
}

/** Sends the start of a POST, then resets the connection. */
async function hangUp(): Promise<void> {
  const socket = connect(port, 'localhost')
  await once(socket, 'connect')
  socket.write(`POST ${plans} HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Length: 100000\r\n\r\nname=`)
  await new Promise((done) => setTimeout(done, 20))
  socket.resetAndDestroy()
}

async function findFreePort(): Promise<number> {
  const holder = createServer().listen(0)
  await once(holder, 'listening')
  const address = holder.address()
  holder.close()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}
