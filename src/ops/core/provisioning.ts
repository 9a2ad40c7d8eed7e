// Creates what an environment lacks before its first deploy. Each step looks first, so an interrupted run is continued by
// the next one, and a run with nothing to do changes nothing.
import { describeCommand } from '../shared/target.ts'
import type { EnvironmentResources, Place } from '../store/environment-resources.ts'
import { UserError } from '../shared/user-error.ts'

/** `foreign`: JWT_KEYS was set by other means than a rotation. Cloudflare never returns its value. */
export interface SigningKey {
  findSigningKey: () => Promise<'none' | 'rotated' | 'foreign'>
  createSigningKey: () => Promise<void>
}

/**
 * @param place where a new database is created.
 * @param report gets a line for each step.
 * @returns whether wrangler.toml changed.
 * @throws UserError when somebody must set something in the dashboard, or an existing database is not as asked.
 */
export async function provision(
  resources: EnvironmentResources & SigningKey,
  place: Place,
  report: (line: string) => void,
): Promise<boolean> {
  const { names, ids, database, namespace } = resources
  let hasNewIds = false

  if (await resources.lacksSubdomain()) {
    throw new UserError(
      'The account has no subdomain of workers.dev, where the service gets its first address. Register one at https://dash.cloudflare.com/?to=/:account/workers/onboarding, and run it again.',
    )
  }

  /** @param key of the ID in wrangler.toml. */
  const obtain = async (
    resource: 'database' | 'namespace',
    kind: string,
    key: string,
    create: (name: string) => Promise<string>,
  ): Promise<string> => {
    const [savedId, name, { exists, findByName, saveId }] = [ids[resource], names[resource], resources[resource]]
    if (savedId !== undefined) {
      if (!(await exists(savedId))) {
        throw new UserError(
          `The account has no ${kind} ${savedId}, which wrangler.toml names in [env.${names.env}]. Check CLOUDFLARE_ACCOUNT_ID; to create another ${kind}, delete the line of ${key} first.`,
        )
      }
      report(`The ${kind} ${savedId} is there.`)
      return savedId
    }
    // An earlier run may have created it, and ended before it wrote the ID.
    const found = await findByName(name)
    const id = found ?? (await create(name))
    await saveId(id)
    hasNewIds = true
    report(`${found === undefined ? 'Created' : 'Found'} the ${kind} ${name}, and wrote its ID into wrangler.toml.`)
    return id
  }

  const databaseId = await obtain('database', 'database', 'database_id', (name) => database.create(name, place))
  if (place.jurisdiction !== undefined) {
    const found = await database.readJurisdiction(databaseId)
    if (found !== place.jurisdiction) {
      throw new UserError(
        `The database ${databaseId} is in ${found === undefined ? 'no jurisdiction' : `the jurisdiction ${found}`}, not ${place.jurisdiction}. D1 sets it only when it creates a database: delete this one and its line in wrangler.toml, or leave --jurisdiction out.`,
      )
    }
    report(`The database is in the jurisdiction ${found}.`)
  }
  await obtain('namespace', 'KV namespace', 'id', (name) => namespace.create(name))

  if (await resources.readReplication(databaseId)) report('Read replication is on.')
  else {
    await resources.switchReplicationOn(databaseId)
    report('Switched read replication on.')
  }

  const pending = await resources.listPendingMigrations()
  if (pending.length === 0) report('Every migration is applied.')
  else {
    await resources.migrate()
    report(`Applied ${pending.length} ${pending.length === 1 ? 'migration' : 'migrations'}.`)
  }

  // After the migrations: the record of keys is a table.
  const signingKey = await resources.findSigningKey()
  if (signingKey === 'rotated') report('There is a signing key.')
  else if (signingKey === 'foreign') {
    const rotate = describeCommand({ remote: true, env: names.env }, 'keys', 'rotate')
    report(`JWT_KEYS was set by other means, and stays as it is. To replace it, run: ${rotate}`)
  } else {
    await resources.createSigningKey()
    report('Created a signing key.')
  }
  return hasNewIds
}
