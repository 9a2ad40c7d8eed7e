// npm run deploy
import type { Command } from 'commander'
import { deployGuarded, type DeploySteps } from '../core/guarded-deploy.ts'
import { readOrigin } from '../../api/origin.ts'
import { findIncompleteCredentials, originRule } from '../core/smoke-input.ts'
import { UserError } from '../shared/user-error.ts'
import {
  deployWithWrangler,
  lacksNameOrCertificate,
  listServiceVersions,
  readConfiguredEnvironment,
  readDeployState,
  runProjectCheck,
  runSmokeTest,
  type ConfiguredEnvironment,
} from '../store/deployment.ts'
import type { CommandContext } from './command-context.ts'
import { environmentOption, readEnvironment } from './environment-option.ts'
import { openProgram, type ExitCode } from './open-program.ts'

const command = 'npm run deploy --'

interface DeployFlags {
  env?: string
  url?: string
  allowDirty?: boolean
  skipCheck?: boolean
}

export async function runDeploy(unescaped: CommandContext): Promise<ExitCode> {
  const { program, context, run } = openProgram('deploy', unescaped, () => `${command} --help`)
  const { io } = context
  const report = (line: string) => void io.stdout.write(`${line}\n`)
  program
    .description(description)
    .usage('--env <name> [flags]')
    .addOption(environmentOption())
    .option('--url <url>', 'where the smoke test finds the service; otherwise SMOKE_URL, or where wrangler deployed it')
    .option('--allow-dirty', 'deploy files that are not committed')
    .option('--skip-check', 'skip npm run check, for example after CI ran it')
    .allowExcessArguments()
    .action(async ({ env, url: flag, allowDirty = false, skipCheck = false }: DeployFlags, { args }: Command) => {
      const environment = await readConfiguredEnvironment(readEnvironment(env, args, command))
      // An unset variable of CI is empty.
      const givenUrl = flag ?? (process.env['SMOKE_URL'] || undefined)
      const url = givenUrl === undefined ? undefined : readOrigin(givenUrl)
      if (givenUrl !== undefined && url === undefined) throw new UserError(originRule)
      const incomplete = findIncompleteCredentials(process.env)
      if (incomplete !== undefined) throw new UserError(incomplete)
      // As wrangler decides whether to ask, started by deployWithWrangler.
      const hasTerminal = Boolean(unescaped.io.stdin.isTTY && unescaped.io.stdout.isTTY && !process.env['CI'])
      await deployGuarded(
        environment,
        { url, allowDirty, skipCheck, hasTerminal },
        openDeploySteps(environment),
        report,
      )
    })
  return run()
}

export function openDeploySteps(environment: ConfiguredEnvironment): DeploySteps {
  const { env, worker } = environment
  return {
    readState: (allowDirty) => readDeployState(environment, { allowDirty }),
    listLiveVersions: () => listServiceVersions(env),
    check: runProjectCheck,
    deploy: () => deployWithWrangler(env),
    lacksNameOrCertificate,
    smokeTest: (url, versionId) => runSmokeTest(url, worker, versionId),
  }
}

const description = `Deploy the Worker and its site to an environment of wrangler.toml, then run the smoke test.

It refuses without the IDs of provision, with migrations or secrets missing, with files that are
not committed, and when npm run check fails.`
