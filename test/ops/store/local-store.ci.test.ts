// The local store, opened as the command line opens it.
import { execFile } from 'node:child_process'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { formatCatalog } from '../../../src/ops/core/file-formats/catalog-file.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'
import { listPartners } from '../../../src/ops/core/partners/partner-accounts.ts'
import { withLocalStore, withMigratedStore } from '../../../src/ops/store/local-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { runOnState, useLocalState } from '../support/local-state.ts'

const state = useLocalState()

test('a database that is not migrated is refused, and the named command migrates it', async () => {
  const persistTo = join(await createFolder(), 'a state')
  await mkdir(join(persistTo, 'v3/d1'), { recursive: true })
  const open = () => withLocalStore({ persistTo }, listPartners)
  const migration = `npm run migrate -- --local --persist-to '${persistTo}'`
  await expect(open()).rejects.toThrow(
    new UserError(`The local database in ${persistTo} is not migrated.\nRun: ${migration}`),
  )
  await promisify(execFile)('sh', ['-c', migration])
  expect(await open()).toEqual([])
})

test('a database of another schema is not migrated, keeps what it has, and the named command deletes it', async () => {
  const persistTo = join(await createFolder(), 'a state')
  const migrate = () => withMigratedStore({ persistTo }, async ({ db }) => db)
  await migrate()
  const folder = join(persistTo, 'v3/d1/miniflare-D1DatabaseObject')
  const name = (await readdir(folder)).find((file) => file.endsWith('.sqlite') && file !== 'metadata.sqlite') ?? ''
  using database = new DatabaseSync(join(folder, name))
  database.exec(`delete from d1_migrations; drop table catalog; alter table partner_contacts rename to other`)
  await expect(migrate()).rejects.toThrow(
    new RegExp(
      `^The local database can't be migrated: .*\\nTo start afresh, delete the local state: rm -r '${persistTo}/v3'$`,
    ),
  )
  const tables = database.prepare(`select count(*) as count from sqlite_master where name = 'catalog'`)
  expect(tables.get()).toEqual({ count: 0 })
})

describe('a database that another program holds', () => {
  let holders: DatabaseSync[]
  beforeEach(async () => {
    const folder = join(state, 'v3/d1/miniflare-D1DatabaseObject')
    const names = (await readdir(folder)).filter((name) => name.endsWith('.sqlite'))
    holders = names.map((name) => new DatabaseSync(join(folder, name)))
    for (const holder of holders) holder.exec('begin exclusive')
  })
  const release = () => {
    for (const holder of holders.splice(0)) holder.close()
  }
  afterEach(release)

  test('is used as soon as that program ends, and nothing is printed', async () => {
    const printed = vi.spyOn(console, 'error')
    setTimeout(release, 2000)
    expect(await withLocalStore({ persistTo: state }, listPartners)).toEqual([])
    expect(printed).not.toHaveBeenCalled()
  })

  test('is refused after some seconds', async () => {
    await expect(withLocalStore({ persistTo: state }, listPartners)).rejects.toThrow(
      `The local state in ${state} can't be used: `,
    )
  })
})

// Every night, 10,000.
const count = inject('isSlow') ? 10_000 : 2000
test(`an import takes ${count} plans, and an export returns them unchanged`, async () => {
  const file = join(state, 'large.json')
  // In two countries, because the list of one may not exceed what the service can cache.
  const many = Array.from({ length: count }, (_, id) =>
    makePlan({ id, about: 'é'.repeat(900), viewableIn: [id % 2 === 0 ? 'KE' : 'UG'] }),
  )
  const text = formatCatalog(many)
  await writeFile(file, text)
  expect(await runOnState('catalog', 'import', file)).toMatchObject({ code: 0 })
  // Not toBe, which would print a difference of 30 MB.
  const { plans } = JSON.parse((await runOnState('catalog', 'export')).stdout)
  expect(formatCatalog(plans) === text).toBe(true)
})
