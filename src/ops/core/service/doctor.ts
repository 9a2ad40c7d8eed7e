// Runs the checks of `doctor`, which say what an operator must fix in an environment, and how.
import { parseKeyName } from '../../../crypto/signing-keys.ts'
import { countListedPlans, selectAppliedMigrations } from '../../../db/health-queries.ts'
import { selectKeyEntries, selectNowSeconds, type KeyEntry } from '../../../db/partner-queries.ts'
import { openStates } from '../../../db/schema.ts'
import { findDamagedPublications } from '../../../db/stage-publication.ts'
import { findCloudflareError, isCausedBy } from '../../store/failure.ts'
import type { Store } from '../../store/store.ts'
import type { WorkerSecrets } from '../../store/worker-secrets.ts'
import { staleIfErrorHours } from '../../../api/promises.ts'
import { describeCommand, describeDeploy, describeMigrate, outdatedSchema, type Target } from '../../shared/target.ts'
import type { Clock } from '../../shared/clock.ts'
import { ok, problem, runChecks, warning, type CheckResult, type NamedResult } from './health-check.ts'
import { formatIsoTime } from '../../shared/iso-time.ts'
import { listCatalogFindings } from '../plan-rules/catalog-check.ts'
import { listPublications } from '../publications/publication-log.ts'
import { listSigningKeys, type Key } from '../keys/key-ring.ts'

/** The schedule publishes every minute: if a publication is overdue for longer, the schedule does not run, or fails. */
const maxDelaySeconds = 180

/** A symmetric key signs for two years at most (NIST SP 800-57 part 1, section 5.3.6); operators get a year to react. */
const maxKeyAgeDays = 365
const daySeconds = 86_400

/** The parts of an environment that `doctor` checks beside its store. */
export interface Environment {
  /** The file names of the migrations of this checkout. */
  migrations: readonly string[]
  secrets: Pick<WorkerSecrets, 'list'>
  /** Asks Cloudflare whether read replication is on. Undefined for the local environment. */
  askIfReplicated?: () => Promise<boolean>
}

/** @param isThorough whether to check also the values of plans, and the hash of every version of a plan, for which all versions are read. */
export async function runDoctorChecks(
  store: Store,
  { migrations, secrets, askIfReplicated }: Environment,
  { nowMs }: Pick<Clock, 'nowMs'>,
  isThorough: boolean,
): Promise<NamedResult[]> {
  const schemaResults = await checkSchema(migrations, store)
  // Without a database that answers and has all migrations, its other checks would fail with messages that say less.
  const isDatabaseUsable = schemaResults.every(({ level }) => level !== 'problem')
  const checks = {
    ...(askIfReplicated && { database: () => checkReplication(askIfReplicated) }),
    ...(isDatabaseUsable && {
      catalog: () => checkAnyPlanIsListed(store),
      publications: () => checkPublications(store),
      ...(isThorough && { record: () => checkPlanHashes(store) }),
    }),
    cache: () => checkCache(store),
    keys: async () => {
      const entries = isDatabaseUsable ? await selectKeyEntries(store.db) : undefined
      return checkKeys(secrets, entries, store.target, nowMs() / 1000)
    },
    ...(isDatabaseUsable && isThorough && { plans: () => checkPlanFindings(store) }),
  }
  return [...schemaResults, ...(await runChecks(checks))]
}

/** Runs only the check `plans`. */
export function runPlanChecks(store: Store): Promise<NamedResult[]> {
  return runChecks({ plans: () => checkPlanFindings(store) })
}

async function checkPlanFindings(store: Store): Promise<CheckResult[]> {
  const findings = await listCatalogFindings(store)
  return findings.length === 0 ? [ok('Nothing to look at.')] : findings
}

/** Checks migrations, and the keys of the latest version, which a deploy keeps. @returns sentences: `obstacles` forbid the deploy. */
export async function runDeployChecks(
  { db, target }: Store,
  { migrations, secrets }: Environment,
): Promise<{ obstacles: string[]; warnings: string[] }> {
  const migrationsResult = checkMigrations(migrations, await readAppliedMigrations(db), target)
  const { latest } = await secrets.list()
  const fix = describeCommand(target, 'keys', 'rotate')
  const results = [migrationsResult, ...checkSigning(latest, await selectNowSeconds(db), fix)]
  const listMessages = (wantedLevel: CheckResult['level']) =>
    results.filter(({ level }) => level === wantedLevel).map(({ message }) => message)
  return { obstacles: listMessages('problem'), warnings: listMessages('warning') }
}

/** @returns one result; if D1 fails, also a warning that says what partners get while D1 fails for the Worker, too. */
async function checkSchema(migrations: readonly string[], { db, target }: Store): Promise<NamedResult[]> {
  const name = 'migrations'
  try {
    return [{ name, ...checkMigrations(migrations, await readAppliedMigrations(db), target) }]
  } catch (error) {
    const failure = findCloudflareError(error)
    if (failure === undefined) throw error
    const databaseProblem = { name, ...problem(`${failure.message} Nothing in the database could be checked.`) }
    if (failure.kind === 'refused') return [databaseProblem]
    const fallbackText = `If D1 fails for the Worker, too, partners list plans and get tokens from copies that are up to ${staleIfErrorHours} hours old. A new secret, or a partner without a copy, gets 503. partner suspend and partner lockdown still end the access of a partner. See "D1 is down" in src/worker/ONCALL.md.`
    return [databaseProblem, { name: 'partners', ...warning(fallbackText) }]
  }
}

/** @returns the file names of the applied migrations: none for a database without any. */
function readAppliedMigrations(db: Store['db']): Promise<string[]> {
  return selectAppliedMigrations(db).catch((error: unknown) => {
    if (isCausedBy(error, outdatedSchema)) return []
    throw error
  })
}

function checkMigrations(filesOfCheckout: readonly string[], applied: readonly string[], target: Target): CheckResult {
  const missingFiles = filesOfCheckout.filter((file) => !applied.includes(file))
  if (missingFiles.length > 0) {
    return problem(`${missingFiles.join(', ')} not applied. Run: ${describeMigrate(target)}`)
  }
  const unknownFiles = applied.filter((file) => !filesOfCheckout.includes(file))
  if (unknownFiles.length === 0) return ok(`all ${filesOfCheckout.length} applied.`)
  return warning(
    `This checkout lacks ${unknownFiles.join(', ')}, which the database has. Update the checkout before you change data.`,
  )
}

async function checkReplication(askIfReplicated: () => Promise<boolean>): Promise<CheckResult> {
  if (await askIfReplicated()) return ok('Read replication is on.')
  return problem(
    'Read replication is off: partners far from the database get slow answers. See "The first deploy" in src/worker/DEPLOY.md.',
  )
}

async function checkAnyPlanIsListed({ db, target }: Store): Promise<CheckResult> {
  const count = await countListedPlans(db)
  if (count > 0) return ok(`Listed plans: ${count}.`)
  return problem(
    `No country lists a plan. To import plans: ${describeCommand(target, 'catalog', 'import', 'FILE')}; to put a plan on a list: ${describeCommand(target, 'plan', 'offer', '--help')}`,
  )
}

/**
 * Writes an entry to KV, which expires after a minute, the shortest time that KV allows. Each entry has a new name, because KV refuses a
 * second write to a key within a second. @throws CloudflareError when KV does not answer or the API token may not write.
 */
async function checkCache({ putKeys }: Store): Promise<CheckResult> {
  await putKeys([`doctor:${crypto.randomUUID()}`], {}, 60)
  return ok('KV answers.')
}

/** @returns a problem when no key can sign yet; otherwise nothing. @param fix the command that makes or deploys a key. */
function checkSigning(secretNames: readonly string[], nowSeconds: number, fix: string): CheckResult[] {
  const kids = secretNames.flatMap((name) => parseKeyName(name) ?? [])
  const canSign = kids.some((kid) => Number(kid) <= nowSeconds)
  return canSign ? [] : [problem(`The Worker has no signing key, or each key signs only later. Run: ${fix}`)]
}

/** @param entries the entries of the record about keys, the newest first; undefined when the record can't be read. */
async function checkKeys(
  { list }: Pick<WorkerSecrets, 'list'>,
  entries: readonly KeyEntry[] | undefined,
  target: Target,
  nowSeconds: number,
): Promise<CheckResult[]> {
  const { live, latest } = await list()
  const keys = listSigningKeys(live, nowSeconds)
  const kids = keys.map(({ kid }) => kid)
  const kidsAfterDeploy = listSigningKeys(latest, nowSeconds).map(({ kid }) => kid)
  const findNewestEntry = (kid: string) => entries?.find((entry) => entry.kid === kid)
  const keysCommand = (verb: string, ...words: string[]) => describeCommand(target, 'keys', verb, ...words)
  const dropCommand = (kid: string) => keysCommand('drop', kid, '--leaked')
  const deployCommand = describeDeploy(target)
  const isDeployDue = kids.join() !== kidsAfterDeploy.join()
  const droppedKids = kids.filter((kid) => findNewestEntry(kid)?.kind === 'keys-drop')
  const misnamedSecrets = live.filter((name) => name.startsWith('JWT_KEY') && parseKeyName(name) === undefined)
  // npm run dev makes the first local key without an entry.
  const mustBeRecorded = target.remote && entries !== undefined
  const unrecordedKids = kids.filter((kid) => mustBeRecorded && findNewestEntry(kid) === undefined)
  const results = [
    ...checkSigning(live, nowSeconds, isDeployDue ? deployCommand : keysCommand('rotate')),
    ...droppedKids.map((kid) =>
      problem(`The record says that the key ${kid} was dropped, but it is in use. Drop it again: ${dropCommand(kid)}`),
    ),
    ...misnamedSecrets.map((name) =>
      warning(`The secret ${name} is no key: its name is not JWT_KEY_ and ten digits. Delete the secret.`),
    ),
    ...unrecordedKids.map((kid) =>
      warning(
        `The key ${kid} is not in the record. If keys drop --leaked made it, run: ${keysCommand('record', kid)}. If nobody knows who set it, run: ${dropCommand(kid)}`,
      ),
    ),
  ]
  if (isDeployDue) {
    const [before, after] = [kids, kidsAfterDeploy].map((all) => all.join(', ') || 'none')
    results.push(warning(`The next deploy changes the keys from ${before} to ${after}. Run: ${deployCommand}`))
  }
  return results.length > 0 ? results : checkKeyAge(keys, nowSeconds, keysCommand('rotate'))
}

/** @param keys KIDs are the Unix seconds from which keys sign. @param fix the command that makes a new key. */
function checkKeyAge(keys: readonly Key[], nowSeconds: number, fix: string): CheckResult[] {
  const signingKey = keys.find(({ use }) => use === 'signs')
  // `checkSigning` reports this.
  if (signingKey === undefined) return []
  const { kid } = signingKey
  const days = Math.floor((nowSeconds - Number(kid)) / daySeconds)
  const age = `${days} ${days === 1 ? 'day' : 'days'} old`
  if (days <= maxKeyAgeDays) return [ok(`${kid} signs and is ${age}. Other keys: ${keys.length - 1}.`)]
  const advice = `replace it once a year, even without a known leak. Run: ${fix}`
  return [warning(`The key that signs, ${kid}, is ${age}: ${advice}`)]
}

async function checkPlanHashes({ db }: Store): Promise<CheckResult[]> {
  const damagedIds = await findDamagedPublications(db)
  if (damagedIds.length === 0) return [ok('The plans of each publication fit their hashes.')]
  return damagedIds.map((id) =>
    problem(
      `The plans of publication ${id} were changed after it was made, or are not complete. See "nightly" in src/worker/ONCALL.md.`,
    ),
  )
}

async function checkPublications(store: Store): Promise<CheckResult[]> {
  const { db, target } = store
  const [nowSeconds, openPublications] = await Promise.all([
    selectNowSeconds(db),
    listPublications(store, { states: openStates }),
  ])
  const byState = Map.groupBy(openPublications, ({ state }) => state)
  const { scheduled = [], waiting = [], conflicted = [] } = Object.fromEntries(byState)
  const catalogCommand = (verb: string, id: number) => describeCommand(target, 'catalog', verb, String(id))
  const scheduleAdvice = target.remote
    ? 'After a deploy, the schedule starts within 15 minutes. See "The schedule doesn\'t run" in src/worker/ONCALL.md.'
    : 'Start npm run dev.'
  const overduePublications = scheduled.filter(({ dueAt }) => dueAt !== null && dueAt + maxDelaySeconds < nowSeconds)
  const unapprovedPublications = waiting.filter(({ dueAt }) => dueAt !== null && dueAt < nowSeconds)
  const conflictingPublications = openPublications.filter(({ willConflict }) => willConflict !== null)
  const problems = [
    ...overduePublications.map(
      ({ id, dueAt }) =>
        `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)}: the schedule did not publish it. ${scheduleAdvice} To publish it now: ${catalogCommand('redo', id)}`,
    ),
    ...unapprovedPublications.map(
      ({ id, dueAt }) =>
        `Publication ${id} was due at ${formatIsoTime(dueAt ?? 0)} and still waits for approval: ${catalogCommand('approve', id)}`,
    ),
    ...conflictingPublications.map(({ id, willConflict, conflictsWith }) => {
      const cancelCommands = conflictsWith.map((earlierId) => catalogCommand('cancel', earlierId)).join(', then ')
      const fix =
        conflictsWith.length === 0
          ? `To make it again: ${catalogCommand('redo', id)}`
          : `To cancel what causes this: ${cancelCommands}`
      return `Publication ${id} will conflict: ${willConflict}. ${fix}; to cancel publication ${id}: ${catalogCommand('cancel', id)}`
    }),
    ...conflicted.map(
      ({ id, conflict }) =>
        `Publication ${id} was not published: ${conflict}. To make it again: ${catalogCommand('redo', id)}; to cancel it: ${catalogCommand('cancel', id)}`,
    ),
  ]
  if (problems.length > 0) return problems.map(problem)
  return [ok(`${scheduled.length} scheduled, ${waiting.length} waiting for approval, none overdue, none conflicted.`)]
}
