import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openBindingStore } from '../support/binding-store.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { readTable, refused, runCommand } from '../support/run-ops.ts'
import { editRecords, emptyDatabase } from '../support/test-database.ts'

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
  return editRecords(bindings().DB, statement)
}

beforeEach(async () => {
  if (isUnchanged) return
  await emptyDatabase(bindings())
  for (const shortName of ['acme', 'boda']) {
    await run(['partner', 'create', '--short-name', shortName, '--name', shortName, '--country', 'KE'])
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
    ['ENTRY', 'TIME', 'PARTNER', 'CHANGE', 'COUNTRY', 'STATUS', 'BY', 'NOTE'],
    ['6', '2026-11-21T12:00:06Z', 'acme', 'resume', 'UG', 'active', 'tester@example.com', 'It paid.'],
    ['5', '2026-11-21T12:00:05Z', 'acme', 'suspend', 'UG', 'suspended', 'tester@example.com'],
    ['4', '2026-11-21T12:00:04Z', 'acme', 'set-country', 'UG', 'active', 'tester@example.com'],
    ['3', '2026-11-21T12:00:03Z', 'acme', 'rotate', 'KE', 'active', 'amina', 'Leaked on GitHub.'],
    ['1', '2026-11-21T12:00:01Z', 'acme', 'create', 'KE', 'active', 'tester@example.com'],
    [''],
  ])
})

test('partner log prints the entries of all partners, or a note that there is none', async () => {
  expect((await readJson('partner', 'log')).map(({ id }) => id)).toEqual([6, 5, 4, 3, 2, 1])
  expect(await run(['keys', 'log'])).toEqual({ code: 0, stdout: '', stderr: 'No change of a key is recorded yet.\n' })
  const none = await run(['partner', 'log', 'acme', '--since', '2026-11-22'])
  expect(none).toEqual({ code: 0, stdout: '', stderr: 'No change of acme is recorded since 2026-11-22T00:00:00Z.\n' })
  expect(await readJson('keys', 'log')).toEqual([])
})

test('partner log shows a new name, and the record holds no contact', async () => {
  await run(['partner', 'rename', 'acme', 'Acme Pay'])
  await run(['partner', 'set-contact', 'acme', 'amina@acme.example', '--note', 'New contact.'])
  expect((await run(['partner', 'log', 'acme'])).stdout).toMatch(/ set-contact .*\n.* rename to Acme Pay {2}/)
  const [contact, rename] = await readJson('partner', 'log', 'acme')
  expect(contact).toMatchObject({ change: 'set-contact', note: 'New contact.' })
  expect(contact?.['command']).toBe(`partner set-contact acme … --note 'New contact.'`)
  expect(rename).toMatchObject({ change: 'rename', name: 'Acme Pay' })
})

test('partner log prints an array for scripts', async () => {
  expect((await readJson('partner', 'log', 'acme'))[1]).toEqual({
    id: 5,
    changedAt: '2026-11-21T12:00:05Z',
    change: 'suspend',
    partner: 'acme',
    name: 'acme',
    country: 'UG',
    status: 'suspended',
    actor: 'tester@example.com',
    command: 'partner suspend acme',
    note: null,
    previousHash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    clientId: expect.stringMatching(/^\w{16}$/) as string,
    secretFingerprint: null,
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

async function makeFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'kept.json')
  await writeFile(file, content)
  return file
}

describe('--verify', () => {
  test('says that the record is intact', async () => {
    await emptyDatabase(bindings())
    await run(['partner', 'create', '--short-name', 'acme', '--name', 'Acme', '--country', 'KE'])
    const { code, stdout, stderr } = await run(['partner', 'log', '--verify'])
    expect([code, stderr]).toEqual([0, ''])
    const [, hash] =
      /^The change record of partners and keys is intact up to entry 1\. The next entry will hold the hash ([0-9a-f]{64})\.\n$/.exec(
        stdout,
      ) ?? []
    expect(await readJson('keys', 'log', '--verify')).toEqual({ record: 'partners', entryCount: 1, hash })
    await run(['partner', 'suspend', 'acme'])
    expect((await readJson('partner', 'log'))[0]?.['previousHash']).toBe(hash)
  })

  test('with --keep compares the hash of the file, and then writes the newest one to it', async () => {
    await emptyDatabase(bindings())
    const create = (shortName: string) =>
      run(['partner', 'create', '--short-name', shortName, '--name', shortName, '--country', 'KE'])
    await create('acme')
    const file = await makeFile('')
    const verify = () => run(['partner', 'log', '--verify', '--keep', file])
    expect(await verify()).toMatchObject({ code: 0, stderr: 'No hash was kept before: nothing was compared.\n' })
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(await readJson('partner', 'log', '--verify'))
    await create('boda')
    expect(await verify()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/ intact up to entry 2\..* The hash that was kept at entry 1 fits\.\n$/) as string,
      stderr: '',
    })
    const kept = await readFile(file, 'utf8')
    expect(JSON.parse(kept)).toMatchObject({ entryCount: 2 })
    // No other entry holds the hash of the newest one.
    await change(`update change_record set actor = 'somebody' where id = 2`)
    expect(await run(['keys', 'log', '--verify'])).toMatchObject({ code: 0 })
    expect(await verify()).toEqual(
      refused(
        'Entry 2 of the record, or one before, was changed after its hash was kept.\nCompare the record with a backup.\n',
      ),
    )
    expect(await readFile(file, 'utf8')).toBe(kept)
  })

  test.each([
    [
      'no file',
      undefined,
      /^Can't read ".*missing": .*\. Name the file that --keep wrote; to begin, an empty file\.\n$/,
    ],
    ['another file', '{}', /^The file of --keep has no hash of a record\. Name the file that --keep wrote\.\n$/],
    ['a part of a file', '{"record":"partners","entryCount":1,', /^The file of --keep has no hash of a record\. /],
    ['no record', '{"entryCount":0,"hash":null}', /^The file of --keep has no hash of a record\. /],
    [
      'an unknown record',
      '{"record":"toString","entryCount":0,"hash":null}',
      /^The file of --keep has no hash of a record\. /,
    ],
    [
      'a negative count',
      '{"record":"partners","entryCount":-1,"hash":null}',
      /^The file of --keep has no hash of a record\. /,
    ],
    [
      'half an entry',
      '{"record":"partners","entryCount":0.5,"hash":null}',
      /^The file of --keep has no hash of a record\. /,
    ],
    [
      'a hash that no empty record has',
      '{"record":"partners","entryCount":0,"hash":"abc"}',
      /^The file of --keep has a hash that no empty record has\. Name the file that --keep wrote\.\n$/,
    ],
    [
      'the file of the other record',
      '{"record":"catalog","entryCount":1,"hash":"abc"}',
      /^The file of --keep has a hash of the record of the catalog\. Name the file that --keep wrote for the change record of partners and keys\.\n$/,
    ],
  ])('with --keep refuses %s', async (_, content, message) => {
    const file = content === undefined ? join(tmpdir(), 'no-folder', 'missing') : await makeFile(content)
    expect(await run(['keys', 'log', '--verify', '--keep', file])).toEqual(refused(expect.stringMatching(message)))
  })

  test('names the first entry that does not fit', async () => {
    expect(await run(['keys', 'log', '--verify'])).toEqual(
      refused(
        'Entry 2 of the record does not fit: it holds another hash of entry 1. One of them was changed after it was written.\nCompare the record with a backup.\n',
      ),
    )
  })
})

test.each([
  [['partner', 'log', 'nobody'], 'There is no partner "nobody". See: npm run -s ops -- partner list'],
  [['partner', 'log', 'acme', '--verify'], '--verify checks the whole record: leave the short name and --since out.'],
  [
    ['keys', 'log', '--verify', '--since', '7d'],
    '--verify checks the whole record: leave the short name and --since out.',
  ],
  [['keys', 'log', '--keep', 'FILE'], '--keep belongs to --verify: add it.'],
  [
    ['partner', 'log', '--since', 'yesterday'],
    '--since must be a duration such as 7d, a date such as 2026-10-03, or a time with its zone such as 2026-10-03T12:00+03:00; it is "yesterday".',
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
  'keys rotate --yes',
  'keys drop OLD --yes',
])('%s on a deployed environment needs an actor', async (command) => {
  const stderr = 'Who makes this change? Add --as NAME, or set OPS_ACTOR or git’s user.email.\n'
  expect(await run([...command.split(' '), '--remote', '--env', 'staging'], async () => undefined)).toEqual(
    refused(stderr),
  )
})
