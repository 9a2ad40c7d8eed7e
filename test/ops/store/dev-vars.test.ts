import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, onTestFinished, vi } from 'vitest'
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

const rotate = (path: string) => rotateLocalKey(openDevVars(path), systemClock)

async function readKids(): Promise<string[]> {
  const { JWT_KEYS = '' } = parseEnv(await readFile(file, 'utf8'))
  return (await importSigningKeys(JWT_KEYS)).map(({ kid }) => kid)
}

test('the first rotation makes a file that only its owner can read', async () => {
  await rotate(file)
  expect(await readKids()).toHaveLength(1)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a new key comes first and signs; earlier keys verify until they are dropped', async () => {
  await rotate(file)
  const [first = ''] = await readKids()
  await rotate(file)
  const [second = '', ...others] = await readKids()
  expect(others).toEqual([first])
  const keys = createLocalKeyRing(openDevVars(file), systemClock)
  expect(await keys.list()).toEqual([
    { kid: second, use: 'signs' },
    { kid: first, use: 'verifies' },
  ])
  await keys.drop({ kid: first, use: 'verifies' })
  expect(await readKids()).toEqual([second])
})

test('several rotations and drops at once keep every key', async () => {
  await rotate(file)
  const [first = ''] = await readKids()
  await rotate(file)
  const keys = createLocalKeyRing(openDevVars(file), systemClock)
  await Promise.all([...Array.from({ length: 6 }, () => rotate(file)), keys.drop({ kid: first, use: 'verifies' })])
  const kids = await readKids()
  expect([kids.length, new Set(kids).size, kids.includes(first)]).toEqual([7, 7, false])
  expect(await readdir(folder)).toEqual(['.dev.vars'])
})

test('a lock that nobody releases is named', async () => {
  const lock = `${file}.lock`
  await writeFile(lock, '')
  // Each look at the clock takes a second.
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1000))
  onTestFinished(() => clock.mockRestore())
  await expect(rotate(file)).rejects.toThrow(
    new UserError(`Another program is changing ${file}. Try again; if there is none, delete ${lock} first.`),
  )
  await expect(readFile(file)).rejects.toThrow(/ENOENT/)
})

test('there is no key while there is no file', async () => {
  expect(await openDevVars(file).read()).toEqual([])
})

describe('the rest of the file does not change', () => {
  const set = `{"keys":[{"kty":"oct","kid":"old","k":"${'A'.repeat(43)}"}]}`

  test.each([
    ['in single quotes', `JWT_KEYS='${set}'\n`],
    ['exported', `  export JWT_KEYS = '${set}'\n`],
    ['unquoted', `JWT_KEYS=${set}\n`],
    ['in backticks over several lines', `JWT_KEYS=\`{"keys":\n[${set.slice(9, -2)}]}\`\n`],
    ['with a comment after it', `JWT_KEYS='${set}' # mine\n`],
    ['without a line feed', `JWT_KEYS='${set}'`],
  ])('%s', async (_, line) => {
    await writeFile(file, `# Comment\nOTHER="$& $1"\n${line}`)
    await rotate(file)
    const text = await readFile(file, 'utf8')
    expect(text).toMatch(/^# Comment\nOTHER="\$& \$1"\nJWT_KEYS='[^']*'\n?$/)
    expect(await readKids()).toEqual([expect.any(String), 'old'])
  })

  test('after a line without a line feed', async () => {
    await writeFile(file, 'OTHER=1')
    await rotate(file)
    expect(await readFile(file, 'utf8')).toMatch(/^OTHER=1\nJWT_KEYS='[^']*'\n$/)
  })
})

test('a kid with a quote, and bytes in another encoding, do not change', async () => {
  const other = Buffer.from('NAME=caf\xe9\n', 'latin1')
  const set = `JWT_KEYS=\`{"keys":[{"kty":"oct","kid":"o'brien","k":"${'A'.repeat(43)}"}]}\`\n`
  await writeFile(file, Buffer.concat([other, Buffer.from(set)]))
  await rotate(file)
  expect(await readKids()).toEqual([expect.any(String), "o'brien"])
  expect((await readFile(file)).subarray(0, other.length)).toEqual(other)
})

test('a symbolic link stays one', async () => {
  const target = join(folder, 'elsewhere')
  await writeFile(target, 'OTHER=1\n')
  await symlink(target, file)
  await rotate(file)
  expect(await readFile(target, 'utf8')).toMatch(/^OTHER=1\nJWT_KEYS=/)
})

test.each([
  ['twice', `JWT_KEYS='SET'\nJWT_KEYS='SET'\n`],
  ['inside another value', `NOTE="first\nJWT_KEYS=inside\nlast"\nJWT_KEYS='SET'\n`],
])('a file that has JWT_KEYS %s is refused, and does not change', async (_, template) => {
  const text = template.replaceAll('SET', `{"keys":[{"kty":"oct","kid":"a","k":"${'A'.repeat(43)}"}]}`)
  await writeFile(file, text)
  await expect(rotate(file)).rejects.toThrow(/^JWT_KEYS in .* can't be replaced: keep only one line of it/)
  expect(await readFile(file, 'utf8')).toBe(text)
})

test('a folder that can’t be written is refused', async () => {
  await expect(rotate(join(folder, 'missing', '.dev.vars'))).rejects.toThrow(
    /^Can't write .*: no such file or folder\.$/,
  )
})

test('a key set that no Worker could use is refused, and does not change', async () => {
  const text = `JWT_KEYS='{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0"}]}'\n`
  await writeFile(file, text)
  const message = `JWT_KEYS in ${file} is wrong: key 1 is shorter than 32 bytes. Delete that line to get a new key.`
  await expect(rotate(file)).rejects.toThrow(new UserError(message))
  expect(await readFile(file, 'utf8')).toBe(text)
})
