// Writes the ID of a database or a KV namespace into wrangler.toml. Everything else stays, its comments too.
import { UserError } from '../shared/user-error.ts'

const ids = {
  DB: { table: 'd1_databases', key: 'database_id' },
  CATALOG_CACHE: { table: 'kv_namespaces', key: 'id' },
} as const

export type BindingWithId = keyof typeof ids

/**
 * Replaces the line of the ID, or of the comment in its place; without one, adds a line.
 * @throws UserError when the environment has no such binding.
 */
export function setBindingId(toml: string, env: string, binding: BindingWithId, id: string): string {
  const { table, key } = ids[binding]
  const lines = toml.split('\n')
  const heads = lines.flatMap((line, index) => (/^\s*\[/.test(line) ? index : []))
  const sections = heads.map((start, index) => ({ start, end: heads[index + 1] ?? lines.length }))
  const section = sections.find(
    ({ start, end }) =>
      lines[start]?.trim() === `[[env.${env}.${table}]]` &&
      lines.slice(start, end).some((line) => new RegExp(`^\\s*binding\\s*=\\s*"${binding}"`).test(line)),
  )
  if (section === undefined) {
    const lacking = `[[env.${env}.${table}]] with binding = "${binding}"`
    throw new UserError(`wrangler.toml has no ${lacking}. Add it, as in the other environment.`)
  }
  const find = (pattern: RegExp) =>
    lines.findLastIndex((line, index) => index >= section.start && index < section.end && pattern.test(line))
  const place = find(new RegExp(`^\\s*(#\\s*)?${key}\\s*=`))
  if (place === -1) lines.splice(find(/^\s*[\w-]+\s*=/) + 1, 0, `${key} = "${id}"`)
  else lines[place] = `${key} = "${id}"`
  return lines.join('\n')
}
