// partner create, partner list
import type { Command } from 'commander'
import { generateClientId, generateClientSecret, hashSecret } from '../auth/secret.ts'
import { abbreviate } from '../catalog/plan.ts'
import { readPbkdf2Iterations } from '../config.ts'
import { openDatabase } from '../db/database.ts'
import { insertPartner, selectPartners } from '../db/partners.ts'
import { findCountryProblem } from './country.ts'
import type { Io } from './io.ts'
import { isCausedBy, persistToOption, withLocalStore, type Store, type StoreOptions } from './local-store.ts'
import { formatTable } from './table.ts'
import { UserError } from './user-error.ts'

export interface NewPartner {
  shortName: string
  name: string
  country: string
}

export interface CreatedPartner extends NewPartner {
  clientId: string
  clientSecret: string
}

interface OutputOptions {
  json?: boolean
}

export function addPartnerCommands(program: Command, io: Io): void {
  const partner = program.command('partner').description('onboard partners and see who is there')

  partner
    .command('create')
    .description('onboard a partner; prints its client ID and, this once, its client secret')
    .option('--short-name <name>', 'its name in paths: 2 to 32 of a-z, 0-9 and -')
    .option('--name <name>', 'its name for people')
    .option('--country <code>', 'the country whose plans it lists, ISO 3166-1 alpha-2')
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .addOption(persistToOption())
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE\n',
    )
    .action(async (options: Partial<NewPartner> & OutputOptions & StoreOptions) => {
      const newPartner = checkPartner(options)
      const created = await withLocalStore(options, (store) => createPartner(store, newPartner))
      const { clientId, clientSecret, shortName, country } = created
      const row = { 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }
      io.stdout.write(
        options.json ? `${JSON.stringify({ clientId, clientSecret, shortName, country })}\n` : formatTable([row]),
      )
      if (!options.json) io.stderr.write('The secret is shown this once: only its hash is stored.\n')
    })

  partner
    .command('list')
    .description('list all partners')
    .option('--json', 'print an array')
    .addOption(persistToOption())
    .addHelpText('after', '\nExample:\n  npm run -s ops -- partner list --json\n')
    .action(async (options: OutputOptions & StoreOptions) => {
      const partners = await withLocalStore(options, ({ d1 }) => selectPartners(openDatabase(d1)))
      const rows = partners.map(({ shortName, name, country, clientId, createdAt, suspendedAt }) => ({
        shortName,
        name,
        country,
        clientId,
        status: suspendedAt === null ? 'active' : 'suspended',
        createdAt: new Date(createdAt * 1000).toISOString(),
      }))
      const table = rows.map((row) => ({
        'SHORT NAME': row.shortName,
        NAME: row.name,
        COUNTRY: row.country,
        'CLIENT ID': row.clientId,
        STATUS: row.status,
        CREATED: row.createdAt.slice(0, 10),
      }))
      io.stdout.write(options.json ? `${JSON.stringify(rows)}\n` : formatTable(table))
      if (!options.json && rows.length === 0) io.stderr.write('There is no partner yet.\n')
    })
}

/** @throws UserError that names everything wrong with the partner. */
function checkPartner({ shortName = '', name = '', country = '' }: Partial<NewPartner>): NewPartner {
  const problems = [
    !/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName) &&
      `--short-name has to be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${abbreviate(shortName)}.`,
    // \p{C}: nothing that a terminal would not show as it is.
    !/^[^\s\p{C}]([^\p{C}]{0,198}[^\s\p{C}])?$/u.test(name) &&
      `--name has to be 1 to 200 visible characters on one line; it is ${abbreviate(name)}.`,
    findCountryProblem(country),
  ].filter((problem) => typeof problem === 'string')
  if (problems.length > 0) throw new UserError(problems)
  return { shortName, name, country }
}

/** @throws UserError when the short name is taken. */
export async function createPartner({ d1, config }: Store, partner: NewPartner): Promise<CreatedPartner> {
  const { shortName, name, country } = partner
  const clientId = generateClientId()
  const clientSecret = generateClientSecret()
  const secretHash = await hashSecret(clientSecret, readPbkdf2Iterations(config))
  const nowSeconds = Math.floor(Date.now() / 1000)
  try {
    await insertPartner(openDatabase(d1), { shortName, name, country, clientId, secretHash, nowSeconds })
  } catch (error) {
    if (!isCausedBy(error, 'partners.short_name')) throw error
    throw new UserError(`The short name ${shortName} is taken. Choose another, or see: npm run -s ops -- partner list`)
  }
  return { ...partner, clientId, clientSecret }
}
