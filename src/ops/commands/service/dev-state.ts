// The local state that `wrangler dev` serves: its key, its database, the demo catalog and a demo partner.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { demoCases } from '../../../catalog/demo-cases.ts'
import { formatKeyName, generateKey } from '../../../crypto/signing-keys.ts'
import { parseConfig } from '../../../api/config.ts'
import { readCatalog } from '../../core/catalog/catalog-formats.ts'
import { prepareImport } from '../../core/catalog/catalog-import.ts'
import { hasPublished } from '../../core/catalog/catalog-plans.ts'
import { systemClock } from '../../shared/clock.ts'
import { listSigningKeys } from '../../core/keys/key-ring.ts'
import { createPartner, listPartners, type Credentials } from '../../core/partners/partner-accounts.ts'
import { publishProposal } from '../../core/publications/publications.ts'
import { devVarsFile, openDevVars } from '../../store/dev-vars.ts'
import { withMigratedStore } from '../../store/local-store.ts'
import type { Store } from '../../store/store.ts'
import { describeCommand, type Target } from '../../shared/target.ts'

const demoCatalog = resolve(import.meta.dirname, '../../../catalog/demo.json')
const attribution = { actor: 'npm run dev', command: 'npm run dev', note: 'The demo catalog.' }
const demoPartner = { shortName: 'demo', name: 'Demo Wallet', country: 'KE' }

/** Creates or migrates the database, and loads the demo catalog if nothing was ever published. Then runs `work`. @throws ConfigError for a wrong variable or key, UserError for an unusable state. */
export async function prepareState(target: Target, work: (store: Store) => Promise<void>): Promise<void> {
  await withMigratedStore(target, async (store) => {
    await parseConfig(store.config)
    // After the first publication, a catalog may be empty on purpose.
    if (!(await hasPublished(store))) {
      const file = await readCatalog(demoCatalog, await readFile(demoCatalog))
      await publishProposal(store, await prepareImport(store, file), attribution)
      process.stdout.write(`Loaded the demo catalog: ${file.plans.length} plans.\n`)
    }
    await work(store)
  })
}

export async function ensureSigningKey(): Promise<void> {
  const secrets = openDevVars()
  const nowSeconds = Math.floor(systemClock.nowMs() / 1000)
  if (listSigningKeys((await secrets.list()).live, nowSeconds).length > 0) return
  await secrets.put({ [formatKeyName(String(nowSeconds))]: generateKey() })
  process.stdout.write(`Wrote a new signing key to ${devVarsFile}.\n`)
}

/** Prints the addresses of API and site. Creates a demo partner, and prints its credentials; if there is a partner, prints how to make it a new secret. */
export async function printAccess(store: Store, origin: string): Promise<void> {
  process.stdout.write(`
The API is served at ${origin}/api/v3/partners, the site for partners' developers at ${origin}.
${await ensurePartner(store, origin)}

`)
}

/** Creates the demo partner if there is no partner. @returns a text with its credentials, or with the way to a new secret. */
async function ensurePartner(store: Store, origin: string): Promise<string> {
  const { target } = store
  const partners = await listPartners(store)
  if (partners.length === 0) {
    const credentials = await createPartner(store, demoPartner, { ...attribution, note: 'The demo partner.' })
    return describeDemo(origin, target, credentials)
  }
  const names = partners.flatMap(({ shortName, endedAt }) => (endedAt === null ? shortName : []))
  const shortName = names.find((name) => name === demoPartner.shortName) ?? names[0]
  const words = shortName === undefined ? ['create', '--help'] : ['rotate', shortName, '--grace', '0']
  return `Plans and partners are as you left them.
A client secret can't be shown again. For a new one, in another terminal:
  ${describeCommand(target, 'partner', ...words)}`
}

function describeDemo(origin: string, target: Target, credentials: Credentials): string {
  const { shortName, country, clientId, clientSecret } = credentials
  const api = `${origin}/api/v3/partners`
  const cases = Object.entries(demoCases).map(([code, { list }]) => `${code} (${list})`)
  const partnerFlags = ['--short-name', 'test-eg', '--name', 'Test', '--country', 'EG']
  const token = `curl -s -X POST -u ${clientId}:${clientSecret} ${api}/auth | sed 's/.*"access_token":"\\([^"]*\\).*/\\1/'`
  return `There is a demo catalog and a demo partner:
  short name     ${shortName}
  country        ${country}
  client ID      ${clientId}
  client secret  ${clientSecret}   (shown this once: only its hash is stored)

Get a token and list the partner's plans, in another terminal:
  curl -s -H "Authorization: Bearer $(${token})" ${api}/${shortName}/plans

Or set the variables that the samples and npm run smoke read:
  export API=${origin} CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret} SHORT_NAME=${shortName}

Countries with cases for tests: ${cases.join(', ')}. Create a partner in one:
  ${describeCommand(target, 'partner', 'create', ...partnerFlags)}`
}
