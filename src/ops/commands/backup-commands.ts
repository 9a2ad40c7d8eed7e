// backup, restore
import type { Command } from 'commander'
import { readBackup, restoreBackup } from '../core/backup.ts'
import { UserError } from '../shared/user-error.ts'
import { readLines } from '../store/read-lines.ts'
import type { Target } from '../shared/target.ts'
import { writePrivateFile } from '../store/write-output.ts'
import { withProgress } from '../terminal/progress.ts'
import { addCommand } from './add-command.ts'
import type { CommandContext } from './command-context.ts'

export function addBackupCommands(program: Command, { io, withStore }: CommandContext): void {
  addCommand(
    program,
    'backup <file>',
    'write the whole database to a file: catalog, partners, hashes of their secrets, and the records',
    'backup production.backup --remote --env production',
  ).action(async (file: string, target: Target) => {
    await withProgress(io, 'Reading the database', (onProgress) =>
      withStore(target, (store) => writePrivateFile(file, readBackup(store, onProgress))),
    )
    io.stderr.write(
      `Wrote ${file}, which only you may read: it has the hashes of secrets, and how to reach partners.\n`,
    )
  })

  addCommand(
    program,
    'restore <file>',
    'write a backup into an empty, migrated database; continues after an interruption',
    'restore production.backup --persist-to /tmp/drill',
  ).action(async (file: string, target: Target) => {
    let isStarted = false
    const onStart = () => void (isStarted = true)
    try {
      const { createdAt, environment } = await withProgress(io, 'Reading the backup', (onProgress) =>
        withStore(target, (store) => restoreBackup(store, () => readLines(file), { onProgress, onStart })),
      )
      io.stderr.write(`Restored the database of ${environment} as it was at ${createdAt}.\n`)
    } catch (error) {
      if (!isStarted || !(error instanceof UserError)) throw error
      throw new UserError([error.message, 'The restore is not complete. To continue it, run the same command again.'])
    }
  })
}
