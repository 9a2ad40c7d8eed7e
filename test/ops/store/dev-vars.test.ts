import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { importSigningKeys } from '../../../src/crypto/signing-keys.ts'
import { systemClock } from '../../../src/ops/core/clock.ts'
import { createLocalKeyRing, rotateLocalKey } from '../../../src/ops/core/local-keys.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { openDevVars } from '../../../src/ops/store/dev-vars.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-'))
  file = join(folder, '.dev.vars')
})
afterEach(() => rm(folder, { recursive: true }))

const rotate = (path = file) => rotateLocalKey(openDevVars(path), systemClock)
const read = () => readFile(file, 'utf8')
const formatSet = (kid: string, secret = 'A'.repeat(43)) => `{"keys":[{"kty":"oct","kid":"${kid}","k":"${secret}"}]}`

async function readKids(): Promise<string[]> {
  const { JWT_KEYS = '' } = parseEnv(await read())
  return (await importSigningKeys(JWT_KEYS)).map(({ kid }) => kid)
}

test('there is no key while there is no file; the first rotation makes one that only its owner can read', async () => {
  expect(await openDevVars(file).read()).toEqual([])
  await rotate()
  expect(await readKids()).toHaveLength(1)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a new key comes first and signs; earlier keys verify until they are dropped', async () => {
  await rotate()
  const [first = ''] = await readKids()
  await rotate()
  const [second = '', ...others] = await readKids()
  expect(others).toEqual([first])
  const keys = createLocalKeyRing(openDevVars(file), systemClock)
  expect(await keys.list()).toEqual([
    { kid: second, use: 'signs' },
    { kid: first, use: 'verifies' },
  ])
  // Several changes at once keep every other key.
  await Promise.all([...Array.from({ length: 6 }, () => rotate()), keys.drop({ kid: first, use: 'verifies' })])
  const kids = await readKids()
  expect([kids.length, new Set(kids).size, kids.includes(first), kids.at(-1)]).toEqual([7, 7, false, second])
  expect(await readdir(folder)).toEqual(['.dev.vars'])
})

test('a lock that nobody releases is named', async () => {
  const lock = `${file}.lock`
  await writeFile(lock, '')
  // Each look at the clock takes a second.
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1000))
  onTestFinished(() => clock.mockRestore())
  const problem = `Another program is changing ${file}. Try again; if there is none, delete ${lock} first.`
  await expect(rotate()).rejects.toThrow(new UserError(problem))
  expect(await readdir(folder)).toEqual(['.dev.vars.lock'])
})

const set = formatSet('old')

test.each([
  ['in single quotes', `JWT_KEYS='${set}'\n`],
  ['exported', `  export JWT_KEYS = '${set}'\n`],
  ['unquoted', `JWT_KEYS=${set}\n`],
  ['in backticks over several lines', `JWT_KEYS=\`{"keys":\n[${set.slice(9, -2)}]}\`\n`],
  ['with a comment after it', `JWT_KEYS='${set}' # mine\n`],
  ['without a line feed', `JWT_KEYS='${set}'`],
])('a key set %s is replaced, and the rest of the file does not change', async (_, line) => {
  await writeFile(file, `# Comment\nOTHER="$& $1"\n${line}`)
  await rotate()
  expect(await read()).toMatch(/^# Comment\nOTHER="\$& \$1"\nJWT_KEYS='[^']*'\n?$/)
  expect(await readKids()).toEqual([expect.any(String), 'old'])
})

test('a key set is added after a line without a line feed, behind a symbolic link', async () => {
  const target = join(folder, 'elsewhere')
  await writeFile(target, 'OTHER=1')
  await symlink(target, file)
  await rotate()
  expect(await readFile(target, 'utf8')).toMatch(/^OTHER=1\nJWT_KEYS='[^']*'\n$/)
})

test('a kid with a quote, and bytes in another encoding, do not change', async () => {
  const other = Buffer.from('NAME=caf\xe9\n', 'latin1')
  await writeFile(file, Buffer.concat([other, Buffer.from(`JWT_KEYS=\`${formatSet("o'brien")}\`\n`)]))
  await rotate()
  expect(await readKids()).toEqual([expect.any(String), "o'brien"])
  expect((await readFile(file)).subarray(0, other.length)).toEqual(other)
})

const ambiguous = /^JWT_KEYS in .* can't be replaced: keep only one line of it/

test.each([
  ['that is there twice', `JWT_KEYS='${set}'\nJWT_KEYS='${set}'\n`, ambiguous],
  ['inside another value', `NOTE="first\nJWT_KEYS=inside\nlast"\nJWT_KEYS='${set}'\n`, ambiguous],
  [
    'that no Worker could use',
    `JWT_KEYS='${formatSet('a', 'c2VjcmV0')}'\n`,
    /^JWT_KEYS in .* is wrong: key 1 is shorter than 32 bytes\. Delete that line to get a new key\.$/,
  ],
])('a key set %s is refused, and does not change', async (_, text, problem) => {
  await writeFile(file, text)
  await expect(rotate()).rejects.toThrow(problem)
  expect(await read()).toBe(text)
})

test('a folder that can’t be written is refused', async () => {
  await expect(rotate(join(folder, 'missing', '.dev.vars'))).rejects.toThrow(
    /^Can't write .*: no such file or folder\.$/,
  )
})
