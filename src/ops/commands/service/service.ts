// ops doctor, watch, copy, compare
import { findLostRows, readCopy } from '../../core/service/database-copy.ts'
import { examine } from '../../core/service/doctor.ts'
import { countProblems, reportFailure, type HealthCheck } from '../../core/service/health-check.ts'
import { alerts, usageQueries } from '../../core/service/usage-queries.ts'
import { watch as watchService } from '../../core/service/watch.ts'
import { listMigrationFiles } from '../../store/wrangler.ts'
import { isReplicated } from '../../store/remote-store.ts'
import { refuseLocalTarget, type QueryUsage } from '../../store/cloudflare-api.ts'
import { checkFileIsNew, ownerOnly, writeOutput } from '../../store/write-output.ts'
import type { Output, Run } from '../frame/run.ts'
import { forceFlag, parseOrigin } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'

export const doctor = verb({
  help: 'check migrations, catalog, record, cache and keys: an operator must fix each problem',
  example: 'doctor --remote --env staging',
  store: 'itself',
  json: 'an array of checks',
  async run(_, run) {
    const checks = await examineTarget(run, true)
    return toOutput(run.target.remote ? [...checks, await checkSchedule(run)] : checks)
  },
})

export const watch = verb({
  help: 'check whether a deployed environment keeps its promises: the operator on call must act on each problem',
  example: 'watch --remote --env production',
  flags: {
    url: {
      value: '<url>',
      help: 'where the smoke test finds the service; otherwise its domain in wrangler.toml, or workers.dev',
      parse: parseOrigin,
    },
    query: {
      value: '<name>',
      help: 'only print what a query finds, and its SQL',
      choices: [...usageQueries.keys()],
      conflicts: ['url'],
    },
  },
  store: 'itself',
  json: 'an array of checks; with --query the rows',
  async run({ url, query: name }, run) {
    const { target, clock, openUsage, findOrigin, variables } = run
    refuseLocalTarget(target)
    const query: QueryUsage = async (write) => (await openUsage(target))(write)
    const write = usageQueries.get(name ?? '')
    if (write) {
      let sql = ''
      const rows = await query((dataset) => (sql = write(dataset)))
      return { data: rows, note: sql }
    }
    const tools = { query, examine: () => examineTarget(run, false), findOrigin: async () => url ?? findOrigin(target) }
    const output = toOutput(await watchService({ ...tools, variables, clock }))
    return output.findings === undefined
      ? output
      : { ...output, findings: `${output.findings} See src/worker/ONCALL.md.` }
  },
})

export const copy = verb({
  help: 'write the whole database to a file of SQL: catalog, partners, hashes of their secrets, and the record',
  example: 'copy production.sql --remote --env production',
  args: { file: {} },
  flags: { force: forceFlag },
  async run({ file, force }, { store, warn }) {
    if (!force) await checkFileIsNew(file)
    await writeOutput(file, readCopy(store), ownerOnly)
    warn(`Wrote ${file}, which only you may read: it has the hashes of secrets, and how to reach partners.`)
  },
})

export const compare = verb({
  help: 'name each row of a copy that the database lacks, or has changed',
  example: 'compare production.sql --remote --env production',
  args: { file: {} },
  json: 'an array of rows',
  async run({ file }, { store }) {
    const { lost, counts } = await findLostRows(store, file)
    const compared = Object.entries(counts).map(([table, count]) => `${count} of ${table}`)
    return {
      data: lost,
      text: lost.map(({ table, row, problem }) => `${table} ${row} ${problem}\n`).join(''),
      note: `Compared ${compared.join(', ')}.`,
      findings: lost.length === 0 ? undefined : 'Rows of the copy are missing or different in the database.',
    }
  },
})

/** @param isThorough `watch` runs often, so it does not read the whole record. */
async function examineTarget(
  { target, clock, withStore, openSecrets }: Run,
  isThorough: boolean,
): Promise<HealthCheck[]> {
  const [migrations, secrets] = [await listMigrationFiles(), await openSecrets(target)]
  const environment = { migrations, secrets, ...(target.remote && { isReplicated: () => isReplicated(target) }) }
  return withStore(target, (store) => examine(store, environment, clock, isThorough))
}

/** An alert of `watch`. Here, a failure is only a warning: not every token may read usage, and a new environment has none. */
async function checkSchedule({ openUsage, target }: Run): Promise<HealthCheck> {
  const { write, judge } = alerts.schedule
  const result = openUsage(target).then(async (query) => judge(await query(write)))
  return {
    name: 'schedule',
    ...(await result.catch((error: unknown) => ({ ...reportFailure(error), level: 'warning' as const }))),
  }
}

function toOutput(checks: HealthCheck[]): Output {
  const lines = checks.map(({ name, level, message }) => `${level.padEnd(7)}  ${name}: ${message}\n`)
  return { data: checks, text: lines.join(''), findings: countProblems(checks) }
}
