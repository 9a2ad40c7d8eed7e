// Time Travel of local databases: a copy of the database's files before each change, and the way back.
import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

interface Snapshot {
  bookmark: string
  /** The database had this state until then. */
  timeMs: number
  folder: string
}

export interface TimeTravel {
  /** Copies the state that the database has now. */
  snapshot: () => Promise<Snapshot>
  findBookmark: (timeMs: number) => Promise<string | undefined>
  /** Only while no runtime has the database open. @returns whether there is such a bookmark. */
  restore: (bookmark: string) => Promise<boolean>
}

/**
 * @param folder the runtime's folder of databases
 * @param file the name that the files of this database start with
 * @param copies a new folder
 */
export function createTimeTravel(folder: string, file: string, copies: string): TimeTravel {
  const createdMs = Date.now()
  const snapshots: Snapshot[] = []

  const copyFiles = async (from: string, to: string) => {
    // The file with the suffix -shm is an index of the one with -wal, which SQLite makes anew.
    const names = (await readdir(from)).filter((name) => name.startsWith(file) && !name.endsWith('-shm'))
    for (const name of names) await cp(join(from, name), join(to, name))
  }

  const snapshot = async () => {
    const number = String(snapshots.length).padStart(8, '0')
    const copy = {
      bookmark: `${number}-0000000a-00004f00-${file.slice(0, 32)}`,
      timeMs: Date.now(),
      folder: join(copies, number),
    }
    await mkdir(copy.folder, { recursive: true })
    await copyFiles(folder, copy.folder)
    snapshots.push(copy)
    return copy
  }

  return {
    snapshot,
    findBookmark: async (timeMs) => {
      if (timeMs < createdMs) return undefined
      return (snapshots.find((one) => one.timeMs >= timeMs) ?? (await snapshot())).bookmark
    },
    restore: async (bookmark) => {
      const found = snapshots.find((one) => one.bookmark === bookmark)
      if (found === undefined) return false
      await snapshot()
      for (const name of await readdir(folder)) if (name.startsWith(file)) await rm(join(folder, name))
      await copyFiles(found.folder, folder)
      return true
    },
  }
}
