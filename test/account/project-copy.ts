// A copy of the project's files for commands that write into the project, such as IDs into wrangler.toml.
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'

const project = resolve(import.meta.dirname, '../..')
/** As in .gitignore. */
const ignored = /^(dist|\.git|\.wrangler|\.dev\.vars.*|\.env.*)$|(^|\/)node_modules$/

export type ProjectCopy = Awaited<ReturnType<typeof copyProject>>

/** Replaces the line of an ID in wrangler.toml, or the comment in its place. */
export function setBindingId(toml: string, env: string, binding: 'DB' | 'CATALOG_CACHE', id: string): string {
  const [table, key] = binding === 'DB' ? ['d1_databases', 'database_id'] : ['kv_namespaces', 'id']
  const line = new RegExp(`(\\[\\[env\\.${env}\\.${table}\\]\\]\n[^[]*?\n)(?:# )?${key} = .*`)
  return toml.replace(line, `$1${key} = "${id}"`)
}

/** @returns the folders of the copy, and of a home with nothing but the configuration of git. */
export async function copyProject() {
  const parent = await mkdtemp(join(tmpdir(), 'catalog-copy-'))
  const [folder, home] = [join(parent, 'project'), join(parent, 'home')]
  await mkdir(home)
  await writeFile(join(home, '.gitconfig'), '[user]\nname = Owner\nemail = owner@example.com\n')
  await cp(project, folder, {
    recursive: true,
    filter: (path) => !ignored.test(relative(project, path)),
  })
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
  return { folder, home, remove: () => rm(parent, { recursive: true }) }
}
