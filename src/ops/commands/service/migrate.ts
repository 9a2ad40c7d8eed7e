// The command `npm run migrate`: applies the migrations to a database.
import { once } from 'node:events'
import { UserError } from '../../shared/user-error.ts'
import { openAccount } from '../../store/cloudflare-api.ts'
import { withMigratedStore } from '../../store/local-store.ts'
import { startWrangler } from '../../store/wrangler.ts'
import { verb } from '../frame/verb.ts'

export const migrate = verb({
  help: `Apply the migrations to the local database or, with --remote, to the database of a deployed environment.
With --remote, other flags are passed on to wrangler d1 migrations apply.`,
  example: 'migrate --remote --env staging',
  flags: { local: { help: 'the default', conflicts: ['remote'] } },
  store: 'itself',
  passesFlagsOn: true,
  async run(_, { target, argv, report }) {
    const words = argv.slice(1)
    if (!target.remote) {
      if (words.some((word) => word.startsWith('-') && !/^--(local$|persist-to\b)/.test(word))) {
        throw new UserError('Without --remote, migrate takes only --local and --persist-to.')
      }
      const appliedFiles = await withMigratedStore(target, async (_store, files) => files)
      return report(appliedFiles.length === 0 ? 'Nothing to migrate.' : `Applied ${appliedFiles.join(', ')}.`)
    }
    // Throws if there is no API token. Without a token, wrangler would ask the operator to log in.
    await openAccount(target)
    const wrangler = startWrangler(['d1', 'migrations', 'apply', 'DB', ...words], 'inherit')
    await once(wrangler, 'exit')
    if (wrangler.exitCode !== 0) throw new UserError('The database is not migrated: see the message of wrangler.')
  },
})
