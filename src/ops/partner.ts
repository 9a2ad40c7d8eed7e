// partner create, partner list
import type { Command } from 'commander'
import { generateClientId, generateClientSecret, hashSecret } from '../auth/secret.ts'
import { isCountryCode } from '../catalog/plan.ts'
import { readPbkdf2Iterations } from '../config.ts'
import { openDatabase } from '../db/database.ts'
import { insertPartner, selectPartners } from '../db/partners.ts'
import type { Io } from './io.ts'
import { isCausedBy, withLocalStore, type Store, type StoreOptions } from './local-store.ts'
import { formatTable } from './table.ts'
import { UserError } from './user-error.ts'

export interface NewPartner {
  shortName: string
  name: string
  country: string
}

interface OutputOptions {
  json?: boolean
}

export function addPartnerCommands(program: Command, io: Io): void {
  const partner = program.command('partner').description('onboard partners and see who is there')

  partner
    .command('create')
    .description('onboard a partner; prints its client ID and, this once, its client secret')
    .requiredOption('--short-name <name>', 'its name in paths: 2 to 32 of a-z, 0-9 and -')
    .requiredOption('--name <name>', 'its name for people')
    .requiredOption('--country <code>', 'the country whose plans it lists, ISO 3166-1 alpha-2')
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .option('--persist-to <dir>', 'the local state folder, as in wrangler')
    .addHelpText(
      'after',
      '\nExample:\n  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE\n',
    )
    .action(async (options: NewPartner & OutputOptions & StoreOptions) => {
      checkPartner(options)
      const created = await withLocalStore(options, (store) => createPartner(store, options))
      const { clientId, clientSecret, shortName, country } = created
      const row = { 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }
      io.stdout.write(options.json ? `${JSON.stringify(created)}\n` : formatTable([row]))
      if (!options.json) io.stderr.write('The secret is shown this once: only its hash is stored.\n')
    })

  partner
    .command('list')
    .description('list all partners')
    .option('--json', 'print an array')
    .option('--persist-to <dir>', 'the local state folder, as in wrangler')
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
function checkPartner({ shortName, name, country }: NewPartner): void {
  const problems = [
    !/^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$/.test(shortName) &&
      `--short-name has to be 2 to 32 of a-z, 0-9 and -, with no - at either end; it is ${JSON.stringify(shortName)}.`,
    !/^\S(.{0,198}\S)?$/u.test(name) &&
      '--name has to be 1 to 200 characters on one line, without white space around it.',
    !isCountryCode(country) &&
      `--country has to be an ISO 3166-1 alpha-2 code in upper case, such as KE; it is ${JSON.stringify(country)}.`,
  ].filter((problem) => problem !== false)
  if (problems.length > 0) throw new UserError(...problems)
}

/** @throws UserError when the short name is taken. */
export async function createPartner({ d1, config }: Store, { shortName, name, country }: NewPartner) {
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
  return { clientId, clientSecret, shortName, country }
}
