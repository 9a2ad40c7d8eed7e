// Wrangler as a program, against a loopback server in the place of Cloudflare's API.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { readKidTimeMs } from '../../../src/crypto/signing-keys.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useLocalBindings } from '../support/local-bindings.ts'
import { refused, runCommand } from '../support/run-ops.ts'

const bindings = useLocalBindings()
const cloudflare = useFakeCloudflare(bindings)

const remote = (...args: string[]) => runCommand([...args, '--remote', '--env', 'staging'])
const listKids = async () => {
  const { stdout } = await remote('keys', 'list', '--json')
  return (JSON.parse(stdout) as { kid: string }[]).map(({ kid }) => kid)
}
const secretNames = () => [...(cloudflare().secrets?.keys() ?? [])].toSorted()

test('the command that a missing migration names migrates the database', async () => {
  const migration = 'npm run migrate -- --remote --env staging'
  const stderr = `The database of [env.staging] is not migrated. Run: ${migration}\n`
  expect(await remote('partner', 'list')).toEqual(refused(stderr))
  await promisify(execFile)('sh', ['-c', migration])
  const { code, stdout } = await remote('partner', 'list')
  expect([code, stdout]).toEqual([0, ''])
})

test('keys rotate creates the Worker with its first secrets, then rotates; keys drop deletes a key', async () => {
  expect((await remote('keys', 'rotate')).code).toBe(0)
  const [first = ''] = await listKids()
  expect(Math.abs((readKidTimeMs(first) ?? 0) - Date.now())).toBeLessThan(60_000)
  expect(secretNames()).toEqual(['JWT_KEYS', `JWT_KEYS_${first}`])

  expect((await remote('keys', 'rotate', '--wait', '1')).code).toBe(0)
  const [second = '', ...others] = await listKids()
  expect(others).toEqual([first])
  expect(secretNames()).toEqual(['JWT_KEYS', `JWT_KEYS_${first}`, `JWT_KEYS_${second}`].toSorted())
  expect(cloudflare().secrets?.get('JWT_KEYS')).toBe(cloudflare().secrets?.get(`JWT_KEYS_${second}`))

  expect((await remote('keys', 'drop', first, '--yes')).code).toBe(0)
  expect(secretNames()).toEqual(['JWT_KEYS', `JWT_KEYS_${second}`])
})

test('a change of secrets that Cloudflare refuses says so, and that the record has it', async () => {
  cloudflare().failure = { call: /secrets-bulk$/, status: 400, message: 'too many secrets' }
  const { code, stderr } = await remote('keys', 'rotate', '--wait', '0')
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      /^The secrets of the Worker could not be changed: .*too many secrets.*\. Check that CLOUDFLARE_API_TOKEN has Workers Scripts Edit, and that CLOUDFLARE_ACCOUNT_ID is its account\.\nThe record shows that the change of key \w+ failed\. .*\n$/,
    ),
  ])
})
