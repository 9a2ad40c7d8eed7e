// The programs of one command: npm run dev, migrate, deploy and smoke.
import { UserError } from '../shared/user-error.ts'
import { toFlag, type AnyHandler, type Declaration, type Flag } from './declaration.ts'
import type { Program } from './program.ts'
import { parseOrigin } from './shared-flags.ts'

const env = {
  value: '<name>',
  help: 'the environment, as in wrangler.toml: staging or production',
  isRequired: true,
} as const satisfies Flag

/** @throws UserError unless it names a Worker and a version of it. */
function parseVersion(text: string): { worker: string; id: string } {
  const [, worker, id] = /^([\w-]+)=([\w-]+)$/.exec(text) ?? []
  if (worker === undefined || id === undefined) throw new UserError('--version must be WORKER=ID.')
  return { worker, id }
}

export const devDeclaration = {
  help: `Serve the API and the site on this machine, with a demo catalog and a demo partner.
Other flags, such as --port and --var, are passed on to wrangler dev.`,
  example: '--port 9000 --persist-to /tmp/state',
  flags: {
    empty: { help: 'leave out the demo catalog and the demo partner' },
    persistTo: { value: '<dir>', help: 'the local state folder: relative to the project' },
  },
  store: 'none',
  passesOn: true,
} as const satisfies Declaration

/** Wrangler's build command starts it, for a bare `wrangler dev`. */
export const prepareDevDeclaration = {
  help: 'Create the local state that npm run dev serves, once for each set of migrations.',
  example: '',
  store: 'none',
} as const satisfies Declaration

export const migrateDeclaration = {
  help: `Apply the migrations to the local database, or with --remote to that of a deployed environment.
Other flags are passed on to wrangler d1 migrations apply.`,
  example: '--remote --env staging',
  flags: { local: { help: 'the default', conflicts: ['remote'] } },
  store: 'itself',
  passesOn: true,
} as const satisfies Declaration

export const deployDeclaration = {
  help: `Deploy the Worker and its site to an environment of wrangler.toml, then run the smoke test.

It refuses with IDs, bindings, migrations or secrets missing, with files that are not committed, and
when npm run check fails.`,
  example: '--env staging',
  flags: {
    env,
    url: {
      value: '<url>',
      help: 'the address of the service; otherwise its custom domain, or its address at workers.dev',
      parse: parseOrigin,
    },
    allowDirty: { help: 'deploy files that are not committed' },
    skipCheck: { help: 'skip npm run check, for example after CI ran it' },
  },
  store: 'none',
} as const satisfies Declaration

export const smokeDeclaration = {
  help: `Call a running service as a partner does, and print one line per check. Exits with 3 when
a check fails. The credentials are in CLIENT_ID, CLIENT_SECRET and SHORT_NAME; without them, only
refusals and the site are checked.`,
  example: '--url https://catalog.example.com',
  flags: {
    url: { value: '<url>', help: 'the origin of the service', isRequired: true, parse: parseOrigin },
    version: {
      value: '<worker=id>',
      help: 'the version that must send every answer of the API; waits while it spreads',
      parse: parseVersion,
    },
  },
  store: 'none',
} as const satisfies Declaration

export const dev = defineProgram('dev', devDeclaration, async () => (await import('./dev-command.ts')).devCommand)

export const prepareDev = defineProgram(
  'dev',
  prepareDevDeclaration,
  async () => (await import('./dev-command.ts')).prepareDevCommand,
)

export const migrate = defineProgram(
  'migrate',
  migrateDeclaration,
  async () => (await import('./migrate-command.ts')).migrateCommand,
)

export const deploy = defineProgram(
  'deploy',
  deployDeclaration,
  async () => (await import('./deploy-command.ts')).deployCommand,
)

export const smoke = defineProgram(
  'smoke',
  smokeDeclaration,
  async () => (await import('./smoke-command.ts')).smokeCommand,
)

function defineProgram(name: string, declaration: Declaration, load: () => Promise<AnyHandler>): Program {
  const command = `npm run ${name} --`
  const required = Object.entries(declaration.flags ?? {}).filter(([, { isRequired }]) => isRequired)
  return {
    name,
    command,
    usage: [...required.map(([flag, { value }]) => `${toFlag(flag)} ${value}`), '[flags]'].join(' '),
    help: declaration.help,
    nouns: { '': { help: '', verbs: { '': declaration }, load: async () => ({ '': await load() }) } },
  }
}
