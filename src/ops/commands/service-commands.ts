// The code of ops doctor, watch, backup, restore.
import { readBackup, restoreBackup } from '../core/backup.ts'
import { examine } from '../core/doctor.ts'
import { throwIfProblem, type HealthCheck } from '../core/health-check.ts'
import { usageQueries } from '../core/usage-queries.ts'
import { watch } from '../core/watch.ts'
import { inspectionPermissions } from '../store/cloudflare-api.ts'
import { readLines } from '../store/read-input.ts'
import { checkHasUsage, type QueryUsage } from '../store/usage-dataset.ts'
import { writePrivateFile } from '../store/write-output.ts'
import type { Handlers } from './declaration.ts'
import type { Run } from './run.ts'
import type { serviceDeclarations } from './service-declarations.ts'

export const serviceCommands: Handlers<typeof serviceDeclarations> = {
  async doctor(_, run) {
    printChecks(run, await examineTarget(run), 2)
  },

  async watch({ url, query: name }, run) {
    const { target, clock, openUsage, findOrigin, variables, print } = run
    checkHasUsage(target)
    const others = name === undefined ? `, ${inspectionPermissions}` : ''
    const query: QueryUsage = async (write) => (await openUsage(target, others))(write)
    const asked = usageQueries.get(name ?? '')
    if (asked) {
      let sql = ''
      const rows = (await query((dataset) => (sql = asked.write(dataset)))) ?? []
      print({ value: rows, text: rows.map(toText), note: sql })
      return
    }
    const tools = { query, examine: () => examineTarget(run), findOrigin: async () => url ?? findOrigin(target) }
    printChecks(run, await watch({ ...tools, variables, clock }), 3)
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

async function examineTarget({
  target,
  clock,
  withStore,
  inspectEnvironment,
  openKeyRing,
}: Run): Promise<HealthCheck[]> {
  const keys = await openKeyRing(target)
  return withStore(target, async (store) => examine(store, await inspectEnvironment(target), keys, clock))
}

/** @throws UserError with the exit code when somebody must act. */
function printChecks({ print }: Run, checks: HealthCheck[], exitCode: 2 | 3): void {
  print({
    value: checks,
    text: checks.map(({ name, level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`).join(''),
  })
  throwIfProblem(checks, exitCode)
}

function toText(row: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value)]))
}
