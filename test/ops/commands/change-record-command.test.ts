import { beforeEach, describe, expect, test } from 'vitest'
import { openBindingStore } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { readTable, refused, runCommand } from '../support/run-ops.ts'
import { emptyDatabase } from '../support/test-database.ts'

const bindings = useMemoryBindings()

/** Six commands take half a second, and most tests only read. */
let isUnchanged = false

const run = (args: string[], findActor = async (): Promise<string | undefined> => 'tester@example.com') => {
  if (args[1] !== 'log' && !args.includes('--remote')) isUnchanged = false
  return runCommand(args, { findActor, withStore: (target, work) => work(openBindingStore(bindings(), target)) })
}
const readJson = async (...args: string[]) =>
  JSON.parse((await run([...args, '--json'])).stdout) as Record<string, unknown>[]
const change = (statement: string) => {
  isUnchanged = false
  return bindings().DB.prepare(statement).run()
}

beforeEach(async () => {
  if (isUnchanged) return
  await emptyDatabase(bindings())
  for (const shortName of ['acme', 'boda']) {
    await run(['partner', 'create', '--short-name', shortName, '--name', 'Acme', '--country', 'KE'])
  }
  await run(['partner', 'rotate', 'acme', '--as', 'amina', '--note', 'Leaked on GitHub.'])
  await run(['partner', 'set-country', 'acme', 'UG'])
  await run(['partner', 'suspend', 'acme'])
  await run(['partner', 'resume', 'acme', '--note', 'It paid.'])
  await change(`update change_record set changed_at = 1795262400 + id`)
  isUnchanged = true
})

test('partner log prints the entries of a partner, the newest first', async () => {
  const { code, stdout, stderr } = await run(['partner', 'log', 'acme'])
  expect([code, stderr]).toEqual([0, ''])
  expect(readTable(stdout)).toEqual([
    ['ENTRY', 'TIME', 'PARTNER', 'CHANGE', 'NAME', 'COUNTRY', 'STATUS', 'BY', 'NOTE'],
    ['6', '2026-11-21T12:00:06Z', 'acme', 'resume', 'Acme', 'UG', 'active', 'tester@example.com', 'It paid.'],
    ['5', '2026-11-21T12:00:05Z', 'acme', 'suspend', 'Acme', 'UG', 'suspended', 'tester@example.com'],
    ['4', '2026-11-21T12:00:04Z', 'acme', 'set', 'Acme', 'UG', 'active', 'tester@example.com'],
    ['3', '2026-11-21T12:00:03Z', 'acme', 'rotate', 'Acme', 'KE', 'active', 'amina', 'Leaked on GitHub.'],
    ['1', '2026-11-21T12:00:01Z', 'acme', 'create', 'Acme', 'KE', 'active', 'tester@example.com'],
    [''],
  ])
})

test('partner log prints the entries of all partners, or a note that there is none', async () => {
  expect((await readJson('partner', 'log')).map(({ id }) => id)).toEqual([6, 5, 4, 3, 2, 1])
  expect(await run(['keys', 'log'])).toEqual({ code: 0, stdout: '', stderr: 'No change of a key is recorded yet.\n' })
  const none = await run(['partner', 'log', 'acme', '--since', '2026-11-22'])
  expect(none).toEqual({ code: 0, stdout: '', stderr: 'No change of acme is recorded since 2026-11-21T21:00:00Z.\n' })
  expect(await readJson('keys', 'log')).toEqual([])
})

test('partner log shows a new name, and the record holds no contact', async () => {
  await run(['partner', 'rename', 'acme', 'Acme Pay'])
  await run(['partner', 'set-contact', 'acme', 'amina@acme.example', '--note', 'New contact.'])
  expect((await run(['partner', 'log', 'acme'])).stdout).toMatch(
    / set {2,}Acme Pay .*\n.* set {2,}Acme Pay .*\n.* Acme /,
  )
  const [contact, rename] = await readJson('partner', 'log', 'acme')
  expect(contact).toMatchObject({ change: 'set', note: 'New contact.' })
  expect(contact?.['command']).toBe(`partner set-contact acme … --note 'New contact.'`)
  expect(rename).toMatchObject({ change: 'set', name: 'Acme Pay' })
})

test('partner log prints an array for scripts', async () => {
  expect((await readJson('partner', 'log', 'acme'))[1]).toEqual({
    id: 5,
    changedAt: '2026-11-21T12:00:05Z',
    change: 'suspend',
    partner: 'acme',
    name: 'Acme',
    country: 'UG',
    status: 'suspended',
    actor: 'tester@example.com',
    command: 'partner suspend acme',
    note: null,
    clientId: expect.stringMatching(/^\w{16}$/) as string,
    tokensValidFrom: null,
  })
})

describe('partner log --since', () => {
  test.each([
    ['2026-11-21T12:00:05Z', [6, 5]],
    ['2026-11-21', [6, 5, 4, 3, 2, 1]],
    ['2026-11-22', []],
  ])('%s', async (since, ids) => {
    expect((await readJson('partner', 'log', '--since', since)).map(({ id }) => id)).toEqual(ids)
  })

  test('7d is before now, by the clock of the database', async () => {
    const ago = (days: number) => `unixepoch() - ${days} * 86400`
    await change(`update change_record set changed_at = case when id < 4 then ${ago(8)} else ${ago(6)} end`)
    expect((await readJson('partner', 'log', '--since', '7d')).map(({ id }) => id)).toEqual([6, 5, 4])
  })
})

test.each([
  [['partner', 'log', 'nobody'], 'There is no partner "nobody". See: npm run -s ops -- partner list'],
  [
    ['partner', 'log', '--since', 'Monday'],
    '--since must be a duration such as 7d, or a time such as yesterday, 2026-10-03 or 2026-10-03T12:00+03:00; it is "Monday".',
  ],
])('%j is a mistake', async (args, stderr) => {
  expect(await run(args)).toEqual(refused(`${stderr}\n`))
})

test.each([
  'partner create --short-name cc --name C --country KE',
  'partner rotate acme --grace 0 --yes',
  'partner lockdown acme --yes',
  'partner end-tokens acme',
  'partner suspend acme',
  'partner resume acme',
  'partner set-country acme TZ',
  'keys rotate',
  'keys drop OLD --yes',
])('%s on a deployed environment needs an actor', async (command) => {
  const stderr = 'Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.\n'
  expect(await run([...command.split(' '), '--remote', '--env', 'staging'], async () => undefined)).toEqual(
    refused(stderr),
  )
})
