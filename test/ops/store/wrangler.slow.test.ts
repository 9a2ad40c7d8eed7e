// Wrangler as a program, against a loopback server in the place of Cloudflare's API. deployment.slow.test.ts has what succeeds.
import { beforeAll, expect, test } from 'vitest'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { migrate, useLocalBindings } from '../support/local-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'

const bindings = useLocalBindings()
const cloudflare = useFakeCloudflare(bindings)

const remote = (...args: string[]) => runCommand([...args, '--remote', '--env', 'staging'])
const listKeys = async () => {
  const { stdout } = await remote('keys', 'list', '--json')
  return (JSON.parse(stdout) as { kid: string; use: string }[]).map(({ kid, use }) => `${kid} ${use}`)
}

beforeAll(async () => {
  await migrate(bindings().DB)
  for (const _ of ['makes the Worker', 'adds a key']) await remote('keys', 'rotate')
})

test('a change of secrets that Cloudflare refuses says so, and that the record has it', async () => {
  cloudflare().failure = { call: /secrets-bulk$/, status: 400, message: 'too many secrets' }
  const { code, stderr } = await remote('keys', 'rotate')
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringMatching(
      /^Wrangler failed while it changed the Worker’s secrets: .*too many secrets.*\. Check that the token has .*\nThe record has the change, .*\n.* keys list .*\n$/,
    ),
  })
})

test('a leaked key is dropped while D1 fails, also when the answer of Cloudflare is lost', async () => {
  const [first = ''] = await listKeys()
  const drop = () => remote('keys', 'drop', String(Number.parseInt(first)), '--leaked', '--yes')
  cloudflare().failure = { call: /secrets-bulk$/, status: 0, message: '', hasEffect: true, isPermanent: true }
  const lost = await drop()
  expect({ code: lost.code, stdout: lost.stdout }).toEqual({ code: 2, stdout: '' })
  expect(await listKeys()).not.toContainEqual(expect.stringMatching(`^${Number.parseInt(first)} `))
  cloudflare().failure = { call: /\/d1\//, status: 500, message: 'D1 is down', isPermanent: true }
  expect(await drop()).toEqual(
    refused(expect.stringMatching(/^\[staging\] The key \d+ is not in use\.\nCloudflare answered 500: D1 is down\.\n/)),
  )
  cloudflare().failure = undefined
  expect((await drop()).code).toBe(0)
  const { stdout } = await remote('log', '--keys', '--json')
  const [entry] = JSON.parse(stdout) as object[]
  expect(entry).toMatchObject({ action: 'keys-drop', kid: String(Number.parseInt(first)) })
})
