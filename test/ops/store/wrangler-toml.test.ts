import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { setBindingId } from '../../../src/ops/store/wrangler-toml.ts'

const toml = readFileSync(resolve(import.meta.dirname, '../../../wrangler.toml'), 'utf8')

test.each([
  ['staging', 'DB', 'database_id'],
  ['staging', 'CATALOG_CACHE', 'id'],
  ['production', 'DB', 'database_id'],
  ['production', 'CATALOG_CACHE', 'id'],
] as const)('of %s, only the line of %s changes', (env, binding, key) => {
  const changed = setBindingId(toml, env, binding, 'new-id').split('\n')
  const lines = toml.split('\n')
  expect(changed).toHaveLength(lines.length)
  const differing = changed.flatMap((line, index) => (line === lines[index] ? [] : [{ line, index }]))
  expect(differing.map(({ line }) => line)).toEqual([`${key} = "new-id"`])
  const section = lines.slice(0, differing[0]?.index).findLast((line) => line.startsWith('['))
  expect(section).toBe(`[[env.${env}.${binding === 'DB' ? 'd1_databases' : 'kv_namespaces'}]]`)
  // Again, with the same ID.
  expect(setBindingId(changed.join('\n'), env, binding, 'new-id')).toBe(changed.join('\n'))
})

const other = `[[env.a.d1_databases]]
binding = "OTHER"
database_id = "other"

[[env.a.d1_databases]]
binding = "DB" # ours
database_name = "name"
# A comment.

[env.a.vars]
`

test('without a line for the ID, it is added after the other settings of its binding', () => {
  expect(setBindingId(other, 'a', 'DB', '1')).toBe(other.replace('"name"\n', '"name"\ndatabase_id = "1"\n'))
})

test('an environment without the binding is refused', () => {
  expect(() => setBindingId(other, 'a', 'CATALOG_CACHE', '1')).toThrow(
    new UserError(
      'wrangler.toml has no [[env.a.kv_namespaces]] with binding = "CATALOG_CACHE". Add it, as in the other environment.',
    ),
  )
})
