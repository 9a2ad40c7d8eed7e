// partner create, list, show, rotate, suspend, resume, set-country
import type { Command } from 'commander'
import { generateClientId, generateClientSecret, hashSecret } from '../../crypto/client-secret.ts'
import { abbreviate } from '../../catalog/plan-schema.ts'
import { readPbkdf2Iterations } from '../../worker/config.ts'
import type { Database, Statement } from '../../db/database.ts'
import {
  insertPartnerStatements,
  isSecretStored,
  rotateSecretStatements,
  selectLiveSecrets,
  selectPartner,
  selectPartners,
  updateCountryStatement,
  updateSuspensionStatement,
  type Partner,
} from '../../db/partner-queries.ts'
import { confirm } from '../terminal/confirm.ts'
import { findCountryProblem } from '../core/country.ts'
import type { Io } from '../terminal/io.ts'
import { changeAndPurge } from '../core/purge-cache.ts'
import type { Store } from '../store/store.ts'
import { withProgress } from '../terminal/progress.ts'
import { addCommand, describeCommand, type Target } from '../store/target.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import { isCausedBy, UserError } from '../core/user-error.ts'

export interface NewPartner {
  shortName: string
  name: string
  country: string
}

/** What `create` and `rotate` show this once. */
export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
  country: string
}

interface OutputOptions {
  json?: boolean
}

export function addPartnerCommands(program: Command, io: Io): void {
  const partner = program.command('partner').description('onboard partners, and see to their credentials')
  const add = addCommand.bind(undefined, partner)

  add(
    'create',
    'onboard a partner; prints its client ID and, this once, its client secret',
    'create --short-name acme --name "Acme Wallet" --country KE',
  )
    .option('--short-name <name>', 'its name in paths: 2 to 32 of a-z, 0-9 and -')
    .option('--name <name>', 'its name for people')
    .option('--country <code>', 'the country whose plans it lists, ISO 3166-1 alpha-2')
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .action(async (options: Partial<NewPartner> & OutputOptions & Target) => {
      const newPartner = checkPartner(options)
      const credentials = await io.withStore(options, (store) => createPartner(store, newPartner, options))
      showCredentials(io, credentials, options)
    })

  add('list', 'list all partners', 'list --json')
    .option('--json', 'print an array')
    .action(async (options: OutputOptions & Target) => {
      const partners = await withProgress(io, 'Reading the partners', () =>
        io.withStore(options, ({ db }) => selectPartners(db)),
      )
      const table = partners.map((row) => ({
        'SHORT NAME': row.shortName,
        NAME: row.name,
        COUNTRY: row.country,
        'CLIENT ID': row.clientId,
        STATUS: statusOf(row),
        CREATED: toIsoTime(row.createdAt).slice(0, 10),
      }))
      io.stdout.write(options.json ? `${JSON.stringify(partners.map(toJson))}\n` : formatTable(table))
      if (!options.json && partners.length === 0) io.stderr.write('There is no partner yet.\n')
    })

  add('show <short-name>', 'show a partner and since when its secrets live, never a secret', 'show acme')
    .option('--json', 'print an object')
    .action(async (shortName: string, options: OutputOptions & Target) => {
      const { found, secrets } = await io.withStore(options, async ({ db }) => {
        const known = await findPartner(db, shortName, options)
        return { found: known, secrets: await selectLiveSecrets(db, known.clientId, nowInSeconds()) }
      })
      const live = secrets.map(({ createdAt, expiresAt }) => ({
        createdAt: toIsoTime(createdAt),
        expiresAt: expiresAt === null ? null : toIsoTime(expiresAt),
      }))
      if (options.json) io.stdout.write(`${JSON.stringify({ ...toJson(found), secrets: live })}\n`)
      else {
        const since = found.suspendedAt === null ? '' : ` since ${toIsoTime(found.suspendedAt)}`
        const pairs: [string, string][] = [
          ['short name', found.shortName],
          ['name', found.name],
          ['country', found.country],
          ['client ID', found.clientId],
          ['status', `${statusOf(found)}${since}`],
          ['created', toIsoTime(found.createdAt)],
          ...live.map(({ createdAt, expiresAt }): [string, string] => [
            'secret',
            expiresAt === null ? `since ${createdAt}` : `since ${createdAt}, rotated, works until ${expiresAt}`,
          ]),
        ]
        io.stdout.write(formatPairs(pairs))
      }
    })

  add(
    'rotate <short-name>',
    'make a new client secret, printed this once; the old one works on for the grace period',
    'rotate acme --grace 24h',
  )
    .option('--grace <time>', 'how long the old secret works on, such as 30m, 24h or 7d; 0 ends it now', '24h')
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .option('--yes', 'do not ask before rotating with --remote')
    .action(async (shortName: string, options: { grace: string; yes?: boolean } & OutputOptions & Target) => {
      const graceSeconds = parseGrace(options.grace)
      const credentials = await io.withStore(options, async (store) => {
        const known = await findPartner(store.db, shortName, options)
        const effect =
          graceSeconds === 0 ? 'all before stop working at once' : `the old one works for another ${options.grace}`
        await confirm(io, options, `${shortName} gets a new secret; ${effect}.`)
        return rotateSecret(store, known, graceSeconds, options)
      })
      showCredentials(io, credentials, options)
      const effect =
        graceSeconds === 0 ? 'No secret before works any more.' : `The old secret works for another ${options.grace}.`
      if (!options.json) io.stderr.write(`${effect}\n`)
    })

  add('suspend <short-name>', 'refuse a partner, its live tokens included; resume undoes it', 'suspend acme')
    .option('--json', 'print the partner as an object')
    .action((shortName: string, options: OutputOptions & Target) =>
      change(io, shortName, options, (db, known) => {
        if (known.suspendedAt !== null) return undefined
        const suspendedAt = nowInSeconds()
        return {
          changed: { ...known, suspendedAt },
          statement: updateSuspensionStatement(db, known.clientId, suspendedAt),
        }
      }),
    )

  add('resume <short-name>', 'lift a suspension', 'resume acme')
    .option('--json', 'print the partner as an object')
    .action((shortName: string, options: OutputOptions & Target) =>
      change(io, shortName, options, (db, known) => {
        if (known.suspendedAt === null) return undefined
        return {
          changed: { ...known, suspendedAt: null },
          statement: updateSuspensionStatement(db, known.clientId, null),
        }
      }),
    )

  add('set-country <short-name> <country>', 'let a partner list the plans of another country', 'set-country acme UG')
    .option('--json', 'print the partner as an object')
    .action((shortName: string, country: string, options: OutputOptions & Target) => {
      const problem = findCountryProblem('The country', country)
      if (problem) throw new UserError(problem)
      return change(io, shortName, options, (db, known) => {
        if (known.country === country) return undefined
        return { changed: { ...known, country }, statement: updateCountryStatement(db, known.clientId, country) }
      })
    })
}

type Change = (db: Database, known: Partner) => { changed: Partner; statement: Statement } | undefined

/** Makes a change that may turn out to be none. Live tokens go by what the cache says, so that it is told, too. */
async function change(io: Io, shortName: string, options: OutputOptions & Target, decide: Change): Promise<void> {
  const { partner, verb } = await io.withStore(options, async (store) => {
    const known = await findPartner(store.db, shortName, options)
    return changeAndPurge(io, store, known, async () => {
      const decision = decide(store.db, known)
      if (decision === undefined) return { partner: known, verb: 'already is' }
      await store.write([decision.statement])
      return { partner: decision.changed, verb: 'is now' }
    })
  })
  const sentence = `${shortName} ${verb} ${statusOf(partner)}, with the plans of ${partner.country}.\n`
  io.stdout.write(options.json ? `${JSON.stringify(toJson(partner))}\n` : sentence)
}

/** @throws UserError when the short name is taken. */
export async function createPartner(store: Store, partner: NewPartner, target: Target): Promise<Credentials> {
  const { shortName, name, country } = partner
  const clientId = generateClientId()
  const clientSecret = generateClientSecret()
  const secretHash = await hashSecret(clientSecret, readPbkdf2Iterations(store.config))
  const row = { shortName, name, country, clientId, secretHash, nowSeconds: nowInSeconds() }
  try {
    await writeSecret(store, insertPartnerStatements(store.db, row), secretHash)
  } catch (error) {
    if (!isCausedBy(error, 'partners.short_name')) throw error
    const list = describeCommand(target, 'partner', 'list')
    throw new UserError(`The short name ${shortName} is taken. Choose another, or see: ${list}`)
  }
  return { clientId, clientSecret, shortName, country }
}

/** @throws UserError when an earlier rotation's grace period still runs. */
async function rotateSecret(
  store: Store,
  { shortName, clientId, country }: Partner,
  graceSeconds: number,
  target: Target,
): Promise<Credentials> {
  const nowSeconds = nowInSeconds()
  const old = (await selectLiveSecrets(store.db, clientId, nowSeconds)).find(({ expiresAt }) => expiresAt !== null)
  if (old && graceSeconds > 0) {
    const mend = describeCommand(target, 'partner', 'rotate', shortName, '--grace', '0')
    throw new UserError(
      `${shortName} has two live secrets: its last rotation's grace lasts until ${toIsoTime(old.expiresAt ?? 0)}. Wait for that, or end both now: ${mend}`,
    )
  }

  const clientSecret = generateClientSecret()
  const secretHash = await hashSecret(clientSecret, readPbkdf2Iterations(store.config))
  const statements = rotateSecretStatements(store.db, { clientId, secretHash, nowSeconds, graceSeconds })
  try {
    await writeSecret(store, statements, secretHash)
  } catch (error) {
    if (!isCausedBy(error, 'two live secrets')) throw error
    throw new UserError(`${shortName} was rotated by somebody else meanwhile. Look at it before you try again.`)
  }
  return { clientId, clientSecret, shortName, country }
}

/** A secret that is stored though the answer to that got lost has to be shown: it is shown this once. */
async function writeSecret({ db, write }: Store, statements: Statement[], secretHash: string): Promise<void> {
  try {
    await write(statements)
  } catch (error) {
    if (!(await isSecretStored(db, secretHash).catch(() => false))) throw error
  }
}

/** @throws UserError when there is no such partner. */
export async function findPartner(db: Database, shortName: string, target: Target): Promise<Partner> {
  const partner = await selectPartner(db, shortName)
  if (partner) return partner
  const list = describeCommand(target, 'partner', 'list')
  throw new UserError(`There is no partner ${abbreviate(shortName)}. See: ${list}`)
}

/** @throws UserError that names everything wrong with the partner. */
function checkPartner({ shortName = '', name = '', country = '' }: Partial<NewPartner>): NewPartner {
  const problems = [
    !/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName) &&
      `--short-name has to be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`,
    // Nothing that a terminal would not show as it is, on one line.
    !/^[^\s\p{C}]([^\p{C}\p{Zl}\p{Zp}]{0,198}[^\s\p{C}])?$/u.test(name) &&
      `--name has to be 1 to 200 visible characters on one line; it is ${abbreviate(name)}.`,
    findCountryProblem('--country', country),
  ].filter((problem) => typeof problem === 'string')
  if (problems.length > 0) throw new UserError(problems)
  return { shortName, name, country }
}

const secondsByUnit: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const longestGraceDays = 30

/** @throws UserError when it is no time from 0 to 30 days. */
function parseGrace(text: string): number {
  const [, count, unit = ''] = /^([0-9]{1,7})([smhd]?)$/.exec(text) ?? []
  const seconds = Number(count) * (secondsByUnit[unit] ?? (Number(count) === 0 ? 1 : Number.NaN))
  if (seconds <= longestGraceDays * 86_400) return seconds
  throw new UserError(
    `--grace has to be 0 or a time of at most ${longestGraceDays} days, such as 30m, 24h or 7d; it is ${abbreviate(text)}.`,
  )
}

function showCredentials(io: Io, credentials: Credentials, { json }: OutputOptions): void {
  const { clientId, clientSecret, shortName, country } = credentials
  const row = { 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }
  io.stdout.write(json ? `${JSON.stringify({ clientId, clientSecret, shortName, country })}\n` : formatTable([row]))
  if (!json) io.stderr.write('The secret is shown this once: only its hash is stored.\n')
}

function toJson({ shortName, name, country, clientId, createdAt, suspendedAt }: Partner) {
  return {
    shortName,
    name,
    country,
    clientId,
    status: statusOf({ suspendedAt }),
    createdAt: toIsoTime(createdAt),
    suspendedAt: suspendedAt === null ? null : toIsoTime(suspendedAt),
  }
}

function statusOf({ suspendedAt }: Pick<Partner, 'suspendedAt'>): 'active' | 'suspended' {
  return suspendedAt === null ? 'active' : 'suspended'
}

export function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

function nowInSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
