// npm run migrate
import { once } from 'node:events'
import { UserError } from '../../shared/user-error.ts'
import { openAccount } from '../../store/cloudflare-api.ts'
import { describeFailedMigration, startWrangler } from '../../store/wrangler.ts'
import { verb } from '../frame/verb.ts'

export const migrate = verb({
  help: `Apply the migrations to the local database, or with --remote to that of a deployed environment.
Other flags are passed on to wrangler d1 migrations apply.`,
  example: 'migrate --remote --env staging',
  flags: { local: { help: 'the default', conflicts: ['remote'] } },
  store: 'itself',
  passesOn: true,
  async run({ local }, { target, argv }) {
    // Otherwise wrangler would ask to log in.
    if (target.remote) await openAccount(target)
    const place = target.remote || local ? [] : ['--local']
    const wrangler = startWrangler(['d1', 'migrations', 'apply', 'DB', ...place, ...argv.slice(1)], 'inherit')
    await once(wrangler, 'exit')
    if (wrangler.exitCode === 0) return
    throw new UserError(
      target.remote
        ? 'The database is not migrated: see the message of wrangler.'
        : describeFailedMigration(target.persistTo),
    )
  },
})
