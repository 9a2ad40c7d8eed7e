// The nouns of the command line, with the code of their verbs, which is loaded only when the operator types the noun.
import type { Verb, Verbs } from './frame/verb.ts'

/** A noun with several verbs, such as `partner`, or a verb alone, such as `why`. */
type Entry = { help: string } & ({ loadVerbs: () => Promise<Verbs> } | { loadVerb: () => Promise<Verb> })
type Entries = Readonly<Record<string, Entry>>

export const help = `Operate the partner investment plan catalog.

Start with these, and add --help to any command:
  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE
  npm run -s ops -- catalog import plans.json --dry-run
  npm run -s ops -- why acme ID`

export const footer = `
Run it as: npm run -s ops -- <noun> <verb> [flags]
Without the -- before them, npm keeps flags such as --dry-run for itself.
To list also the commands that run the service: npm run -s ops -- --help --all
`

export const dailyWork: Entries = {
  partner: {
    help: 'onboard partners, and manage their credentials',
    loadVerbs: async () => (await import('./partners/partner.ts')).partner,
  },
  catalog: {
    help: 'import and export the plan catalog, and undo its changes',
    loadVerbs: async () => (await import('./catalog/catalog.ts')).catalog,
  },
  plan: {
    help: 'see and change single plans; ID is the identifier of a plan, or its number',
    loadVerbs: async () => (await import('./plans/plan.ts')).plan,
  },
  why: {
    help: 'say why a partner gets 401, and why it sees a plan or not',
    loadVerb: async () => (await import('./plans/why.ts')).why,
  },
  log: {
    help: 'list who changed the catalog, partners and keys, when and why',
    loadVerb: async () => (await import('./catalog/log.ts')).log,
  },
}

const loadService = () => import('./service/service.ts')

/** The nouns that only `--help --all` lists. */
export const serviceWork: Entries = {
  doctor: {
    help: 'find what an operator must fix in an environment, also in its plans',
    loadVerb: async () => (await loadService()).doctor,
  },
  watch: {
    help: 'check whether a deployed environment keeps its promises',
    loadVerb: async () => (await loadService()).watch,
  },
  keys: {
    help: 'manage the keys that sign access tokens',
    loadVerbs: async () => (await import('./keys/keys.ts')).keys,
  },
  copy: { help: 'write the whole database to a file', loadVerb: async () => (await loadService()).copy },
  compare: {
    help: 'name the rows of a database copy that the database lacks, or has with other values',
    loadVerb: async () => (await loadService()).compare,
  },
  invalidate: {
    help: 'make the Workers load every plan list again',
    loadVerb: async () => (await loadService()).invalidate,
  },
  migrate: {
    help: 'apply the migrations to a database',
    loadVerb: async () => (await import('./service/migrate.ts')).migrate,
  },
  deploy: {
    help: 'deploy the Worker and its site, and test them',
    loadVerb: async () => (await import('./service/deploy.ts')).deploy,
  },
  smoke: {
    help: 'call a running service as a partner does',
    loadVerb: async () => (await import('./service/smoke.ts')).smoke,
  },
  dev: {
    help: 'serve the API and the site on this machine',
    loadVerb: async () => (await import('./service/dev.ts')).dev,
  },
}

export const commands: Entries = {
  ...dailyWork,
  ...serviceWork,
  // No --help lists prepare-dev, because only the build of wrangler runs it.
  'prepare-dev': {
    help: 'create the local state for wrangler dev without npm run dev',
    loadVerb: async () => (await import('./service/dev.ts')).prepareDev,
  },
}
