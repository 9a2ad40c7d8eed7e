// `doctor`: checks an environment, and says what an operator must fix, and how.
import { parseKeyName } from '../../../crypto/signing-keys.ts'
import { countListedPlans, selectAppliedMigrations } from '../../../db/health-queries.ts'
import { selectKeyEntries, selectNowSeconds, type KeyEntry } from '../../../db/partner-queries.ts'
import { openStates } from '../../../db/schema.ts'
import { findChangedPublications } from '../../../db/stage-publication.ts'
import { findCloudflareError, isCausedBy } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { describeCommand, describeDeploy, describeMigration, outdatedSchema, type Target } from '../../shared/target.ts'
import type { Clock } from '../../shared/clock.ts'
import { ok, problem, runChecks, warning, type CheckResult, type NamedResult } from './health-check.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { checkCatalog } from '../plan-rules/catalog-check.ts'
import { listPublications } from '../publications/publication-log.ts'
import { listKeys, type Key } from '../keys/key-ring.ts'

/** The schedule runs every minute: if a publication is later than this, the schedule does not run. */
const maxDelaySeconds = 180

/** A symmetric key signs for two years at most (NIST SP 800-57 part 1, section 5.3.6); operators get a year to react. */
const maxKeyAgeDays = 365
const daySeconds = 86_400

/** What doctor checks, besides a store. */
export interface Environment {
  /** The file names of the migrations of this checkout. */
  migrations: readonly string[]
  secrets: Pick<WorkerSecrets, 'list'>
  /** Asks whether read replication is on. A local environment has none. */
  isReplicated?: () => Promise<boolean>
}

/**
 * Runs all checks. When one can't reach what it checks, that is a problem, too.
 * @param isThorough whether to check the plans and the hashes of all their versions, too. The hashes need the whole record.
 */
export async function runDoctorChecks(
  store: Store,
  { migrations, secrets, isReplicated }: Environment,
  { nowMs }: Pick<Clock, 'nowMs'>,
  isThorough: boolean,
): Promise<NamedResult[]> {
  const { target } = store
  const schema = await checkSchema(migrations, store)
  // Without the database, or on an outdated schema, the other checks of the database would fail, and say less.
  const isUsable = schema.every(({ level }) => level !== 'problem')
  const checks = {
    ...(isReplicated && { database: () => checkReplication(isReplicated) }),
    ...(isUsable && {
      catalog: () => checkListedPlans(store),
      publications: () => checkPublications(store),
      ...(isThorough && { record: () => checkRecord(store) }),
    }),
    cache: () => checkCache(store),
    keys: async () => {
      const entries = isUsable ? await selectKeyEntries(store.db) : undefined
      return checkKeys(secrets, entries, target, nowMs() / 1000)
    },
    ...(isUsable && isThorough && { plans: () => findMistakes(store) }),
  }
  return [...schema, ...(await runChecks(checks))]
}

export function checkPlans(store: Store): Promise<NamedResult[]> {
  return runChecks({ plans: () => findMistakes(store) })
}

/** Finds what can hardly be right in the plans, and what partners see of them. */
async function findMistakes(store: Store): Promise<CheckResult[]> {
  const findings = await checkCatalog(store)
  return findings.length === 0 ? [ok('Nothing to look at.')] : findings
}

/**
 * Checks migrations and signing keys before a deploy. A deploy keeps the secrets of the latest version.
 * @returns sentences: obstacles, for which a deploy is refused, and warnings, for which it asks first.
 */
export async function checkBeforeDeploy(
  { db, target }: Store,
  { migrations, secrets }: Environment,
): Promise<{ obstacles: string[]; warnings: string[] }> {
  const findings = [
    checkMigrations(migrations, await readApplied(db), target),
    ...checkSigning(
      (await secrets.list()).latest,
      await selectNowSeconds(db),
      describeCommand(target, 'keys', 'rotate'),
    ),
  ]
  const listMessages = (wanted: CheckResult['level']) =>
    findings.filter(({ level }) => level === wanted).map(({ message }) => message)
  return { obstacles: listMessages('problem'), warnings: listMessages('warning') }
}

/**
 * Checks the migrations, which is the first call to the database. If it fails, says what partners get if D1 also fails for the Worker.
 */
async function checkSchema(known: readonly string[], { db, target }: Store): Promise<NamedResult[]> {
  const name = 'migrations'
  try {
    return [{ name, ...checkMigrations(known, await readApplied(db), target) }]
  } catch (error) {
    const failure = findCloudflareError(error)
    if (failure === undefined) throw error
    const down = { name, ...problem(`${failure.message} Nothing in the database could be checked.`) }
    if (failure.kind === 'refused') return [down]
    const fallback = `If D1 fails for the Worker, too, partners list plans and get tokens from copies of up to ${staleIfErrorHours} hours. A new secret, or a partner without a copy, gets 503. partner suspend and partner lockdown end the access of a partner all the same. See "D1 is down" in src/worker/ONCALL.md.`
    return [down, { name: 'partners', ...warning(fallback) }]
  }
}

/** @returns the file names of the migrations that the database has; none for an empty database. */
function readApplied(db: Store['db']): Promise<string[]> {
  return selectAppliedMigrations(db).catch((error: unknown) => {
    if (isCausedBy(error, outdatedSchema)) return []
    throw error
  })
}

/** @param known the migrations of this checkout. @param applied the migrations of the database. */
function checkMigrations(known: readonly string[], applied: readonly string[], target: Target): CheckResult {
  const missing = known.filter((file) => !applied.includes(file))
  if (missing.length > 0) {
    return problem(`${missing.join(', ')} not applied. Run: ${describeMigration(target)}`)
  }
  const unknown = applied.filter((file) => !known.includes(file))
  if (unknown.length === 0) return ok(`all ${known.length} applied.`)
  return warning(`This checkout lacks ${unknown.join(', ')}, which is applied. Update it before you change data.`)
}

async function checkReplication(isReplicated: () => Promise<boolean>): Promise<CheckResult> {
  if (await isReplicated()) return ok('Read replication is on.')
  return problem(
    'Read replication is off: distant partners wait for it. See "The first deploy" in src/worker/DEPLOY.md.',
  )
}

async function checkListedPlans({ db, target }: Store): Promise<CheckResult> {
  const count = await countListedPlans(db)
  if (count > 0) return ok(`Listed plans: ${count}.`)
  return problem(`No country lists a plan. Run: ${describeCommand(target, 'catalog', 'import', 'FILE')}`)
}

/**
 * Writes an entry into KV, which shows that KV answers, and that the API token may change it. The entry lasts a minute, the shortest
 * time, and has a new name each time, because KV takes one write a second for each key.
 */
async function checkCache({ putKeys }: Store): Promise<CheckResult> {
  await putKeys([`doctor:${crypto.randomUUID()}`], {}, 60)
  return ok('KV answers.')
}

/** Checks that a key can sign. @param names the names of secrets. @param fix the command that makes or deploys a key. */
function checkSigning(names: readonly string[], nowSeconds: number, fix: string): CheckResult[] {
  const hasBegun = names.some((name) => Number(parseKeyName(name)) <= nowSeconds)
  return hasBegun ? [] : [problem(`The Worker has no signing key whose time has come. Run: ${fix}`)]
}

/** @param entries the record of the keys; undefined when it can't be read. */
async function checkKeys(
  { list }: Pick<WorkerSecrets, 'list'>,
  entries: readonly KeyEntry[] | undefined,
  target: Target,
  nowSeconds: number,
): Promise<CheckResult[]> {
  const { live, latest } = await list()
  const keys = listKeys(live, nowSeconds)
  const kids = keys.map(({ kid }) => kid)
  const next = listKeys(latest, nowSeconds).map(({ kid }) => kid)
  const findLast = (kid: string) => entries?.find((entry) => entry.kid === kid)
  const command = (verb: string, ...words: string[]) => describeCommand(target, 'keys', verb, ...words)
  const deploy = describeDeploy(target)
  const isOutdated = kids.join() !== next.join()
  // npm run dev makes the first local key without an entry.
  const mustBeRecorded = target.remote && entries !== undefined
  /** What is wrong, how bad it is, and the message for each subject: a KID, or the name of a secret. */
  const table: [subjects: string[], judge: (message: string) => CheckResult, describe: (subject: string) => string][] =
    [
      [
        kids.filter((kid) => findLast(kid)?.kind === 'keys-drop'),
        problem,
        (kid) => `The key ${kid} was dropped, and is in use. Drop it again: ${command('drop', kid, '--leaked')}`,
      ],
      [
        live.filter((name) => name.startsWith('JWT_KEY') && parseKeyName(name) === undefined),
        warning,
        (name) => `The secret ${name} is no key: its name is not JWT_KEY_ and ten digits of Unix seconds. Delete it.`,
      ],
      [
        kids.filter((kid) => mustBeRecorded && findLast(kid) === undefined),
        warning,
        (kid) =>
          `The key ${kid} is not in the record. If keys drop --leaked made it, run: ${command('record', kid)}. If nobody knows who set it, run: ${command('drop', kid, '--leaked')}`,
      ],
      [
        isOutdated ? [next.join(', ') || 'none'] : [],
        warning,
        (after) => `The next deploy changes the keys from ${kids.join(', ') || 'none'} to ${after}. Run: ${deploy}`,
      ],
    ]
  const findings = [
    ...checkSigning(live, nowSeconds, isOutdated ? deploy : command('rotate')),
    ...table.flatMap(([subjects, judge, describe]) => subjects.map((subject) => judge(describe(subject)))),
  ]
  return findings.length > 0 ? findings : checkKeyAge(keys, nowSeconds, command('rotate'))
}

/** @param fix the command that makes a newer key. */
function checkKeyAge(keys: readonly Key[], nowSeconds: number, fix: string): CheckResult[] {
  const signing = keys.find(({ use }) => use === 'signs')
  if (signing === undefined) return []
  const days = Math.floor((nowSeconds - Number(signing.kid)) / daySeconds)
  const age = `${days} ${days === 1 ? 'day' : 'days'} old`
  if (days <= maxKeyAgeDays) return [ok(`${signing.kid} signs and is ${age}, ${keys.length - 1} more keys verify.`)]
  const advice = `replace it once a year, even without a known leak. Run: ${fix}`
  return [warning(`The key that signs, ${signing.kid}, is ${age}: ${advice}`)]
}

/** Computes the hash of every version of a plan again, and compares it with the stored one. */
async function checkRecord({ db }: Store): Promise<CheckResult[]> {
  const changed = await findChangedPublications(db)
  if (changed.length === 0) return [ok('The plans of each publication fit their hashes.')]
  return changed.map((id) =>
    problem(
      `The plans of publication ${id} were changed after it was made, or are not complete. See "nightly" in src/worker/ONCALL.md.`,
    ),
  )
}

/** Checks the publications that are not published yet. */
async function checkPublications(store: Store): Promise<CheckResult[]> {
  const { db, target } = store
  const [now, open] = await Promise.all([selectNowSeconds(db), listPublications(store, { states: openStates })])
  const byState = Map.groupBy(open, ({ state }) => state)
  const { scheduled = [], waiting = [], conflicted = [] } = Object.fromEntries(byState)
  const command = (verb: string, id: number) => describeCommand(target, 'catalog', verb, String(id))
  const schedule = target.remote
    ? 'A new one begins within 15 minutes. See "The schedule doesn\'t run" in src/worker/ONCALL.md.'
    : 'Start npm run dev.'
  const overdue = scheduled.filter(({ dueAt }) => dueAt !== null && dueAt + maxDelaySeconds < now)
  const late = waiting.filter(({ dueAt }) => dueAt !== null && dueAt < now)
  const doomed = open.filter(({ willConflict }) => willConflict !== null)
  const problems = [
    ...overdue.map(
      ({ id, dueAt }) =>
        `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)}: the schedule does not run. ${schedule} To publish it now: ${command('redo', id)}`,
    ),
    ...late.map(
      ({ id, dueAt }) =>
        `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)} and still waits for approval: ${command('approve', id)}`,
    ),
    ...doomed.map(
      ({ id, willConflict, conflictsWith: [earlier] }) =>
        `Publication ${id} will conflict: ${willConflict}. ${
          earlier === undefined
            ? `To make it again: ${command('redo', id)}`
            : `To keep its values, drop the other: ${command('cancel', earlier)}`
        }; to drop it: ${command('cancel', id)}`,
    ),
    ...conflicted.map(
      ({ id, conflict }) =>
        `Publication ${id} was not published: ${conflict}. To make it again: ${command('redo', id)}; to drop it: ${command('cancel', id)}`,
    ),
  ]
  if (problems.length > 0) return problems.map(problem)
  return [ok(`${scheduled.length} scheduled, ${waiting.length} waiting for approval, none overdue, none conflicted.`)]
}
