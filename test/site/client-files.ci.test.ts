import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { changes } from '../../src/api/promises.ts'
import { clientVersion } from '../../src/site/client/investment-plans.mts'
import { writeClients } from '../../src/site/client-files.ts'
import { runFile } from '../support/run-file.ts'
import { createFolder } from '../support/temporary-folder.ts'

async function write() {
  const folder = await createFolder()
  await mkdir(join(folder, 'client'))
  return { folder, files: await writeClients(folder) }
}

// `npm ci` refuses another file than the one that it installed before.
test('a new build of a version of the package has the same checksum', async () => {
  expect((await write()).files).toEqual((await write()).files)
})

test('the TypeScript client has the types of the service, and compiles without the DOM library', async () => {
  const { folder } = await write()
  const catalog = resolve(import.meta.dirname, '../../src/catalog')
  const code = `
    import type * as Client from './client/investment-plans.mts'
    import type { PlanFilter } from '${catalog}/plan-filters.ts'
    import type { Plan } from '${catalog}/plan-schema.ts'
    type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
    export const isSame: [Same<Client.Plan, Plan>, Same<Client.PlanFilter, PlanFilter>] = [true, true]`
  await writeFile(join(folder, 'compare.mts'), code)
  const settings = '--strict --exactOptionalPropertyTypes --module nodenext --lib es2024 --noEmit --types node'.split(
    ' ',
  )
  const modules = resolve(import.meta.dirname, '../../node_modules')
  const all = [...settings, '--typeRoots', `${modules}/@types`, '--allowImportingTsExtensions', '--skipLibCheck']
  const failure = await runFile(`${modules}/.bin/tsc`, [...all, 'compare.mts'], { cwd: folder }).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  )
  expect(failure).toBe('')
})

test('the history says what changed in the clients, which have the same version', async () => {
  const python = await readFile(resolve(import.meta.dirname, '../../src/site/client/investment_plans.py'), 'utf8')
  expect(/^CLIENT_VERSION = "(.*)"$/m.exec(python)?.[1]).toBe(clientVersion)
  expect(changes.find(({ version }) => version === clientVersion)?.text).toMatch(/\bclients\b/i)
})
