// The code of ops doctor, backup, restore.
import { readBackup, restoreBackup } from '../core/backup.ts'
import { examine } from '../core/doctor.ts'
import { readLines } from '../store/read-input.ts'
import { writePrivateFile } from '../store/write-output.ts'
import { UserError } from '../shared/user-error.ts'
import type { Handlers } from './declaration.ts'
import type { serviceDeclarations } from './service-declarations.ts'

export const serviceCommands: Omit<Handlers<typeof serviceDeclarations>, 'completion'> = {
  async doctor(_, { target, clock, withStore, inspectEnvironment, openKeyRing, print }) {
    const keys = await openKeyRing(target)
    const checks = await withStore(target, async (store) =>
      examine(store, await inspectEnvironment(target), keys, clock),
    )
    print({
      value: checks,
      text: checks.map(({ name, level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`).join(''),
    })
    const count = checks.filter(({ level }) => level === 'problem').length
    if (count > 0) throw new UserError(`${count === 1 ? '1 problem needs' : `${count} problems need`} a fix.`)
  },

  async backup({ file }, { store, update, warn }) {
    await writePrivateFile(file, readBackup(store, update))
    warn(`Wrote ${file}, which only you may read: it has the hashes of secrets, and how to reach partners.`)
  },

  async restore({ file }, { store, update, warn }) {
    const { createdAt, environment } = await restoreBackup(store, () => readLines(file), update)
    warn(`Restored the database of ${environment} as it was at ${createdAt}.`)
  },
}
