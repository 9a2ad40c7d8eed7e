// npm run provision
import { Option, type Command } from 'commander'
import { rotateKeys } from '../core/key-ring.ts'
import { provision } from '../core/provisioning.ts'
import { UserError } from '../shared/user-error.ts'
import { CloudflareError } from '../store/failure.ts'
import { openResources } from '../store/environment-resources.ts'
import { openWorkerSecrets } from '../store/worker-secrets.ts'
import { actorOption } from './add-command.ts'
import { readAttribution, type CommandContext } from './command-context.ts'
import { environmentOption, readEnvironment } from './environment-option.ts'
import { openProgram, type ExitCode } from './open-program.ts'

const command = 'npm run provision --'

/** D1's own location hints. None is in Africa: western Europe is the nearest. */
const locations = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc']

/** From wrangler's sources. */
const jurisdictions = ['eu', 'fedramp', 'us']

export function locationOption(): Option {
  return new Option('--location <hint>', 'where a new database gets its primary').choices(locations).default('weur')
}

interface ProvisionFlags {
  env?: string
  location: string
  jurisdiction?: string
  as?: string
}

export async function runProvision(unescaped: CommandContext): Promise<ExitCode> {
  const { program, context, run } = openProgram('provision', unescaped, () => `${command} --help`)
  const { io, openKeyRing, withStore } = context
  program
    .description(description)
    .usage('--env <name> [flags]')
    .addOption(environmentOption())
    .addOption(locationOption())
    .addOption(
      new Option('--jurisdiction <name>', 'where a new database runs and is stored, instead of a hint')
        .choices(jurisdictions)
        .conflicts('location'),
    )
    .addOption(actorOption)
    .allowExcessArguments()
    .action(async ({ env: name, location, jurisdiction, as }: ProvisionFlags, { args }: Command) => {
      const env = readEnvironment(name, args, command)
      const target = { remote: true, env, ...(as === undefined ? {} : { as }) }
      const attribution = await readAttribution(context, target)
      const keys = openKeyRing(target)
      // There is no earlier key to wait for.
      const rotation = {
        waitSeconds: 0,
        onWait: () => {},
        confirmReplacement: () => Promise.reject(new UserError('Somebody set JWT_KEYS meanwhile. Run it again.')),
      }
      const resources = {
        ...(await openResources(env)),
        findSigningKey: async () => {
          const secrets = await openWorkerSecrets(target).list()
          if (!secrets.some((secret) => secret.name === 'JWT_KEYS' && secret.isKept)) return 'none' as const
          return (await keys.list()).some(({ use }) => use === 'signs') ? ('rotated' as const) : ('foreign' as const)
        },
        createSigningKey: () => withStore(target, (store) => rotateKeys(keys, store, attribution, rotation)),
      }
      try {
        const hasNewIds = await provision(
          resources,
          { location, jurisdiction },
          (line) => void io.stdout.write(`${line}\n`),
        )
        if (hasNewIds) io.stdout.write('Commit wrangler.toml: the IDs are not secret, and deploy needs them.\n')
      } catch (error) {
        if (!(error instanceof CloudflareError)) throw error
        throw new UserError(`${error.message} Then run it again: it continues where it stopped.`)
      }
    })
  return run()
}

const description = `Create what an environment of wrangler.toml lacks before its first deploy: the database, read
replication, the KV namespace, the tables, and the signing key. It writes the IDs into wrangler.toml.

It changes nothing that is there, so it can be repeated.`
