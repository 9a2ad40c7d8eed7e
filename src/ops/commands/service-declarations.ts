// ops doctor, watch, backup, restore
import { usageQueries } from '../core/usage-queries.ts'
import type { Verbs } from './declaration.ts'
import { parseOrigin } from './shared-flags.ts'

export const serviceDeclarations = {
  doctor: {
    help: 'check what an operator must fix; exits with 2 when there is something',
    example: 'doctor --remote --env staging',
    store: 'itself',
    json: 'an array of checks',
    progress: 'Examining',
  },
  watch: {
    help: 'check whether a deployed environment keeps its promises; exits with 3 when somebody must act',
    example: 'watch --remote --env production',
    flags: {
      url: {
        value: '<url>',
        help: 'where the smoke test finds the service; otherwise its domain in wrangler.toml, or workers.dev',
        parse: parseOrigin,
      },
      query: {
        value: '<name>',
        help: 'only print what a query finds, and its SQL',
        choices: [...usageQueries.keys()],
        conflicts: ['url'],
      },
    },
    store: 'itself',
    json: 'an array of checks; with --query the rows',
    progress: 'Examining',
  },
  backup: {
    help: 'write the whole database to a file: catalog, partners, hashes of their secrets, and the records',
    example: 'backup production.backup --remote --env production',
    args: { file: {} },
    progress: 'Reading the database',
  },
  restore: {
    help: 'write a backup into an empty, migrated database; continues after an interruption',
    example: 'restore production.backup --persist-to /tmp/drill',
    args: { file: {} },
    progress: 'Reading the backup',
  },
} as const satisfies Verbs
