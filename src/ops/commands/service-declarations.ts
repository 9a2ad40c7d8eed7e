// ops doctor, watch, copy, compare
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
  copy: {
    help: 'write the whole database to a file of SQL: catalog, partners, hashes of their secrets, and the record',
    example: 'copy production.sql --remote --env production',
    args: { file: {} },
    progress: 'Reading the database',
  },
  compare: {
    help: 'name each row of a copy that the database lacks, or has changed; exits with 3 when there is one',
    example: 'compare production.sql --remote --env production',
    args: { file: {} },
    json: 'an array of rows',
    progress: 'Reading the copy',
  },
} as const satisfies Verbs
