// The code of ops doctor, watch, copy, compare.
import { findLostRows, readCopy } from '../core/database-copy.ts'
import { examine } from '../core/doctor.ts'
import { throwIfProblem, type HealthCheck } from '../core/health-check.ts'
import { usageQueries } from '../core/usage-queries.ts'
import { watch } from '../core/watch.ts'
import { inspectionPermissions } from '../store/cloudflare-api.ts'
import { readStatements } from '../store/sql-file.ts'
import { checkHasUsage, type QueryUsage } from '../store/usage-dataset.ts'
import { writePrivateFile } from '../store/write-output.ts'
import { UserError } from '../shared/user-error.ts'
import type { Handlers } from './declaration.ts'
import type { Run } from './run.ts'
import type { serviceDeclarations } from './service-declarations.ts'

export const serviceCommands: Handlers<typeof serviceDeclarations> = {
  async doctor(_, run) {
    printChecks(run, await examineTarget(run, true), 2)
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
    const tools = { query, examine: () => examineTarget(run, false), findOrigin: async () => url ?? findOrigin(target) }
    printChecks(run, await watch({ ...tools, variables, clock }), 3)
  },

  async copy({ file }, { store, update, warn }) {
    await writePrivateFile(file, readCopy(store, update))
    warn(`Wrote ${file}, which only you may read: it has the hashes of secrets, and how to reach partners.`)
  },

  async compare({ file }, { store, update, print }) {
    const { lost, counts } = await findLostRows(store, readStatements(file), update)
    print({
      value: lost,
      text: lost.map(({ table, row, problem }) => `${table} ${row} ${problem}\n`).join(''),
      note: `Compared ${Object.entries(counts)
        .map(([table, count]) => `${count} of ${table}`)
        .join(', ')}.`,
    })
    if (lost.length > 0) throw new UserError('Rows of the copy are missing or different in the database.', 3)
  },
}

/** @param isThorough `watch` runs often, so it does not read the whole record. */
async function examineTarget(run: Run, isThorough: boolean): Promise<HealthCheck[]> {
  const { target, clock, withStore, inspectEnvironment, openKeyRing } = run
  const keys = await openKeyRing(target)
  return withStore(target, async (store) => examine(store, await inspectEnvironment(target), keys, clock, isThorough))
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
