// A copy of the project's files for commands that write into the project, such as IDs into wrangler.toml.
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const project = resolve(import.meta.dirname, '../..')
const loopbackFetch = join(import.meta.dirname, 'loopback-fetch.ts')

export interface ProjectCopy {
  folder: string
  /** An empty home folder, besides the configuration of git. */
  home: string
  remove: () => Promise<void>
}

export async function copyProject(): Promise<ProjectCopy> {
  const parent = await mkdtemp(join(tmpdir(), 'catalog-copy-'))
  const [folder, home] = [join(parent, 'project'), join(parent, 'home')]
  await mkdir(home)
  await writeFile(join(home, '.gitconfig'), '[user]\nname = Owner\nemail = owner@example.com\n')
  const { stdout } = await promisify(execFile)('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: project,
  })
  for (const name of stdout.split('\n').filter(Boolean)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await cp(join(project, name), join(folder, name))
  }
  await symlink(join(project, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(home, 'loopback-fetch.mjs'), stripTypeScriptTypes(await readFile(loopbackFetch, 'utf8')))
  return { folder, home, remove: () => rm(parent, { recursive: true }) }
}
