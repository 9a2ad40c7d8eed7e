// The operators' program: its nouns, the verbs without a noun, and where their code is. It is loaded when they are typed.
import type { Verb, Verbs } from './frame/verb.ts'

interface Entry<Loaded> {
  help: string
  /** --help doesn't list what only programs call. */
  isHidden?: true
  load: () => Promise<Loaded>
}

export const help = `Operate the partner investment plan catalog.

Start with these, and add --help to any command:
  npm run -s ops -- partner create --short-name acme --name "Acme Wallet" --country KE
  npm run -s ops -- catalog import plans.json --dry-run
  npm run -s ops -- why acme ID`

export const footer = `
Run it as: npm run -s ops -- <noun> <verb> [flags]
Without the -- before them, npm keeps flags such as --dry-run for itself.
`

export const nouns: Readonly<Record<string, Entry<Verbs>>> = {
  partner: {
    help: 'onboard partners, and manage their credentials',
    load: async () => (await import('./partners/partner.ts')).partner,
  },
  catalog: {
    help: 'import and export the plan catalog, and undo its changes',
    load: async () => (await import('./catalog/catalog.ts')).catalog,
  },
  plan: {
    help: 'see and change single plans, and who sees them; ID is the identifier of a plan, or its id',
    load: async () => (await import('./plans/plan.ts')).plan,
  },
  keys: { help: 'the keys that sign access tokens', load: async () => (await import('./keys/keys.ts')).keys },
}

const dailyVerbs: Readonly<Record<string, Entry<Verb>>> = {
  log: {
    help: 'list who changed the catalog, partners and keys, when and why',
    load: async () => (await import('./catalog/log.ts')).log,
  },
  why: {
    help: 'say why a partner gets 401, or sees a plan or does not',
    load: async () => (await import('./plans/why.ts')).why,
  },
  doctor: { help: 'check what an operator must fix', load: async () => (await import('./service/service.ts')).doctor },
  dev: { help: 'serve the API and the site on this machine', load: async () => (await import('./service/dev.ts')).dev },
  'prepare-dev': {
    help: 'create the local state for a bare wrangler dev',
    isHidden: true,
    load: async () => (await import('./service/dev.ts')).prepareDev,
  },
}

const serviceVerbs: Readonly<Record<string, Entry<Verb>>> = {
  watch: {
    help: 'check whether a deployed environment keeps its promises',
    load: async () => (await import('./service/service.ts')).watch,
  },
  copy: { help: 'write the whole database to a file', load: async () => (await import('./service/service.ts')).copy },
  compare: {
    help: 'name what a copy has and the database lacks',
    load: async () => (await import('./service/service.ts')).compare,
  },
  migrate: {
    help: 'apply the migrations to a database',
    load: async () => (await import('./service/migrate.ts')).migrate,
  },
  deploy: {
    help: 'deploy the Worker and its site, and test them',
    load: async () => (await import('./service/deploy.ts')).deploy,
  },
  smoke: {
    help: 'call a running service as a partner does',
    load: async () => (await import('./service/smoke.ts')).smoke,
  },
}

export const verbs = { ...dailyVerbs, ...serviceVerbs }

/** The groups of --help. */
export const groups = { 'Daily work:': { ...nouns, ...dailyVerbs }, 'Running the service:': serviceVerbs }
