// The commands that watch over an environment: `ops doctor`, `watch`, `copy`, `compare` and `invalidate`.
import { findLostRows, generateCopy } from '../../core/service/database-copy.ts'
import { foldFindings } from '../../core/plan-rules/plan-findings.ts'
import { invalidateLists } from '../../core/publications/publications.ts'
import { runDoctorChecks, runPlanChecks } from '../../core/service/doctor.ts'
import { summarizeProblems, toProblem, type NamedResult } from '../../core/service/health-check.ts'
import { alerts, usageQueries } from '../../core/service/usage-queries.ts'
import { watch as watchService } from '../../core/service/watch.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { formatTarget } from '../../shared/target.ts'
import { listMigrationFiles } from '../../store/wrangler.ts'
import { isReplicated } from '../../store/remote-store.ts'
import { refuseLocalTarget, type QueryUsage } from '../../store/cloudflare-api.ts'
import { checkFileIsNew, ownerOnly, writeOutput } from '../../store/write-output.ts'
import type { Output, Run } from '../frame/run.ts'
import { forceFlag, parseOrigin } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'

export const doctor = verb({
  help: 'check an environment, such as its migrations, plans, publications and keys; an operator must fix each problem',
  example: 'doctor --remote --env staging',
  flags: { catalog: { help: 'check only the plans: figures, dates, names, and the lists of countries' } },
  store: 'itself',
  json: 'an array of check results; a finding about a plan or a list also has a rule and a subject',
  async run({ catalog }, run) {
    if (catalog) return formatChecks(await run.withStore(run.target, runPlanChecks))
    const checks = await runDoctorOnTarget(run, { isThorough: true })
    return formatChecks(run.target.remote ? [...checks, await checkSchedule(run)] : checks)
  },
})

export const watch = verb({
  help: 'check whether a deployed environment keeps its promises to partners; the operator on call must act on each problem',
  example: 'watch --remote --env production',
  flags: {
    url: {
      value: '<url>',
      help: 'the address for the smoke test; by default the domain in wrangler.toml, then workers.dev',
      parse: parseOrigin,
    },
    query: {
      value: '<name>',
      help: 'run only this query about requests, and print its rows and its SQL',
      choices: [...usageQueries.keys()],
      conflicts: ['url'],
    },
  },
  store: 'itself',
  json: 'an array of check results; with --query the rows',
  async run({ url, query: name }, run) {
    const { target, clock, openUsage, requireOrigin, variables } = run
    refuseLocalTarget(target)
    // Opens the dataset in each query: without --query, a failure to open it is a problem of these checks, and the other checks still run.
    const query: QueryUsage = async (writeQuery) => (await openUsage(target))(writeQuery)
    const writeNamedQuery = usageQueries.get(name ?? '')
    if (writeNamedQuery) {
      // The dataset, and so the SQL, is known only when the query runs.
      let sql = ''
      const rows = await query((dataset) => (sql = writeNamedQuery(dataset)))
      return { data: rows, note: sql }
    }
    const tools = {
      query,
      runDoctorChecks: () => runDoctorOnTarget(run, { isThorough: false }),
      requireOrigin: async () => url ?? requireOrigin(target),
    }
    const output = formatChecks(await watchService({ ...tools, variables, clock }))
    const { reasonToAct } = output
    return reasonToAct === undefined ? output : { ...output, reasonToAct: `${reasonToAct} See src/worker/ONCALL.md.` }
  },
})

export const copy = verb({
  help: 'write the whole database to a file of SQL: catalog, partners, hashes of their secrets, and the record',
  example: 'copy production.sql --remote --env production',
  args: { file: {} },
  flags: { force: forceFlag },
  async run({ file, force }, { store, warn }) {
    await checkFileIsNew(file, force)
    await writeOutput(file, generateCopy(store), ownerOnly)
    warn(`Wrote ${file}, which only you may read: it has the hashes of secrets, and how to reach partners.`)
  },
})

export const compare = verb({
  help: 'name each row of a database copy that the database lacks, or has with other values',
  example: 'compare production.sql --remote --env production',
  args: { file: {} },
  json: 'an array of the rows that are missing or differ',
  async run({ file }, { store }) {
    const { lostRows, counts } = await findLostRows(store, file)
    const tableCounts = Object.entries(counts).map(([table, count]) => `${count} of ${table}`)
    return {
      data: lostRows,
      text: lostRows.map(({ table, row, problem }) => `${table} ${row} ${problem}\n`).join(''),
      note: `Rows compared: ${tableCounts.join(', ')}.`,
      reasonToAct:
        lostRows.length === 0 ? undefined : 'The database lacks these rows of the copy, or has them with other values.',
    }
  },
})

export const invalidate = verb({
  help: 'make the Workers load every plan list from the database again; a change of the catalog has the same effect',
  example: 'invalidate',
  changes: 'at-once',
  json: 'an object with the new revision of the catalog',
  async run(_, { store, attribution, target }) {
    const { revision } = await invalidateLists(store, attribution)
    const sentence = `After at most ${freshness}, the Workers load each plan list from the database again when it is requested.`
    return { data: { revision }, text: `${formatTarget(target)} ${sentence}\n` }
  },
})

/** Runs the checks of `doctor`. @throws UserError when the environment can't be opened. @param isThorough whether to read the whole record and all plans, for which `watch` runs too often. */
async function runDoctorOnTarget(
  { target, clock, withStore, openSecrets }: Run,
  { isThorough }: { isThorough: boolean },
): Promise<NamedResult[]> {
  const migrations = await listMigrationFiles()
  const secrets = await openSecrets(target)
  const environment = { migrations, secrets, ...(target.remote && { askIfReplicated: () => isReplicated(target) }) }
  return withStore(target, (store) => runDoctorChecks(store, environment, clock, isThorough))
}

/** Checks when the schedule last ran. If the time can't be read, the result is only a warning: not every API token may read usage. */
async function checkSchedule({ openUsage, target }: Run): Promise<NamedResult> {
  const { writeQuery, evaluate } = alerts.schedule
  try {
    const query = await openUsage(target)
    return { name: 'schedule', ...evaluate(await query(writeQuery)) }
  } catch (error) {
    return { name: 'schedule', ...toProblem(error), level: 'warning' }
  }
}

/** Formats a line for each check result without a rule, and for each finding that `foldFindings` makes of those with a rule. */
function formatChecks(checks: NamedResult[]): Output {
  const checksWithoutRule = checks.filter(({ rule }) => rule === undefined)
  const findings = checks.flatMap(({ rule, subject, ...check }) =>
    rule && subject ? [{ ...check, rule, subject }] : [],
  )
  const lines = [
    ...checksWithoutRule.map((check) => formatCheck(check, check.message)),
    ...foldFindings(findings).map((finding) => formatCheck(finding, `${finding.subject}: ${finding.message}`)),
  ]
  return { data: checks, text: lines.join(''), reasonToAct: summarizeProblems(checks) }
}

function formatCheck({ level, name }: NamedResult, message: string): string {
  return `${level.padEnd(7)}  ${name}: ${message}\n`
}
