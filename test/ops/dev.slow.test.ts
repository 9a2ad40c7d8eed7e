import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'

const state = await mkdtemp(join(tmpdir(), 'catalog-'))
const port = await findFreePort()
const plans = `http://localhost:${port}/api/v3/partners/demo/plans`

afterAll(() => rm(state, { recursive: true }))

// One test, as a start takes several seconds.
test('npm run dev serves until a signal', { timeout: 120_000 }, async () => {
  // Wrangler writes to the home folder, which is not possible here.
  const server = startDev({ HOME: '/dev/null/home' })
  await vi.waitFor(() => expect(server.output()).toContain('Get a token'), { timeout: 60_000, interval: 100 })
  expect(server.output()).not.toMatch(stackFrame)

  const [, credentials = ''] = /-u (\S+)/.exec(server.output()) ?? []
  const authorization = `Basic ${btoa(credentials)}`
  const response = await fetch(new URL('../auth', plans), { method: 'POST', headers: { authorization } })
  const { access_token: token } = (await response.json()) as { access_token: string }
  const list = await fetch(plans, { headers: { authorization: `Bearer ${token}` } })
  expect(await list.json()).toMatchObject({ data: { total: 11 } })

  // Clients that hang up in the middle of a POST ended wrangler 4.124.
  for (let count = 0; count < 100; count++) await hangUp()
  expect((await fetch(plans, { method: 'POST', body: new URLSearchParams({ name: 'value' }) })).status).toBe(405)

  const second = startDev()
  expect(await second.ended).toEqual([1, null])
  expect(second.output()).toContain(`Address already in use (localhost:${port}).`)
  expect(second.output()).not.toMatch(stackFrame)

  server.child.kill('SIGTERM')
  expect(await server.ended).toEqual([0, null])
  await expect(fetch(plans)).rejects.toThrow('fetch failed')
})

const stackFrame = /^\s+at .*:\d+:\d+\)?$/m

function startDev(env: Record<string, string> = {}) {
  const program = resolve(import.meta.dirname, '../../src/ops/dev.ts')
  const child = spawn(process.execPath, [program, `--port=${port}`, `--persist-to=${state}`], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const server = { child, output: () => stripVTControlCharacters(output), ended: once(child, 'exit') }
  onTestFinished(async () => {
    child.kill()
    await server.ended
  })
  return server
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
