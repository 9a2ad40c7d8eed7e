// The command `npm run deploy`: checks an environment, deploys the Worker and its site, and runs the smoke test.
import { parseVariables } from '../../../api/config.ts'
import { runDeployChecks } from '../../core/service/doctor.ts'
import { describeIncompleteCredentials, runSmokeTest } from '../../core/service/smoke-test.ts'
import { isCleanCheckout } from '../../store/checkout.ts'
import { deployWithWrangler, findLiveVersionId, runProjectCheck } from '../../store/deployment.ts'
import { listMigrationFiles } from '../../store/wrangler.ts'
import { readWranglerConfig } from '../../store/wrangler-toml.ts'
import { describeCommand, type Target } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import type { Run } from '../frame/run.ts'
import { parseOrigin } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'

export const deploy = verb({
  help: `Deploy the Worker and its site to an environment of wrangler.toml, then run the smoke test.

It does nothing while IDs, migrations or secrets are missing, files are not committed, or
npm run check fails.`,
  example: 'deploy --env staging',
  flags: {
    env: {
      value: '<name>',
      help: 'the environment, as in wrangler.toml: staging or production',
      isRequired: true,
    },
    url: {
      value: '<url>',
      help: 'the address of the service, for the site and the smoke test; by default its custom domain, or without routes its address at workers.dev',
      parse: parseOrigin,
    },
    allowDirty: { help: 'deploy also files that are not committed' },
    skipCheck: { help: 'skip npm run check, for example after CI ran it' },
    yes: { help: 'skip the question about a checkout that is older than the database' },
  },
  asks: true,
  store: 'none',
  async run({ env, url, allowDirty, skipCheck }, run) {
    const { variables, clock, report, requireOrigin, progress } = run
    const target = { remote: true, env }
    const { name: workerName, vars } = await readWranglerConfig(env)
    // Throws if a variable of wrangler.toml is wrong.
    parseVariables(vars)
    const credentialsProblem = describeIncompleteCredentials(variables)
    if (credentialsProblem !== undefined) throw new UserError(credentialsProblem)
    progress?.show('Step 1 of 4: reading the environment')
    const warnings = await listDeployWarnings(target, allowDirty, run)
    if (warnings.length > 0) {
      await run.confirm(`${warnings.join(' ')} The code of this checkout will replace the code that is live.`, target)
    }
    // The site names this address, and the smoke test calls it.
    const origin = url ?? (await requireOrigin(target))
    if (!skipCheck) progress?.step('Step 2 of 4: npm run check')
    if (!skipCheck && !(await runProjectCheck())) {
      throw new UserError('npm run check failed. Fix what it names, or add --skip-check.')
    }
    const previousVersion = await findLiveVersionId(target)
    const wayBack =
      previousVersion === undefined
        ? 'This is the first version: there is no version to go back to.'
        : `To go back to the version before: npx wrangler rollback ${previousVersion} --env ${env}`
    progress?.step('Step 3 of 4: wrangler deploy')
    // wrangler may fail after it has deployed the version, for example when it can't set the schedule.
    run.effect.outcome = 'unknown'
    const id = await deployWithWrangler(env, origin)
    if (id === undefined) {
      throw new UserError([
        `wrangler deploy failed: see its message above, and "When Cloudflare refuses" in src/worker/DEPLOY.md.`,
        `What is live now: npx wrangler deployments status --env ${env}`,
        wayBack,
      ])
    }
    report(`Version ${id} is deployed to ${env}: ${origin}`)
    progress?.step('Step 4 of 4: the smoke test')
    const { outcome } = await runSmokeTest({ origin, version: { workerName, id }, variables }, clock, report)
    if (outcome === 'failed') throw new UserError([`The smoke test failed, and version ${id} is live.`, wayBack])
    if (outcome === 'unreachable') {
      throw new UserError([
        `Version ${id} is live, but not tested: ${origin} does not answer. A new domain answers once it has its certificate.`,
        `When the address answers, run: ${describeCommand({}, 'smoke', '--url', origin)}`,
        wayBack,
      ])
    }
    report(wayBack)
  },
})

/** @returns warnings that the operator has to confirm. @throws UserError with all obstacles, if there are any. */
async function listDeployWarnings(
  target: Target,
  isDirtyAllowed: boolean,
  { withStore, openSecrets }: Run,
): Promise<string[]> {
  const environment = { migrations: await listMigrationFiles(), secrets: await openSecrets(target) }
  const { obstacles, warnings } = await withStore(target, (store) => runDeployChecks(store, environment))
  const isCheckoutRefused = !isDirtyAllowed && !(await isCleanCheckout())
  const uncommittedObstacle = 'Not everything here is committed: see git status. Commit it, or add --allow-dirty.'
  const allObstacles = isCheckoutRefused ? [...obstacles, uncommittedObstacle] : obstacles
  if (allObstacles.length > 0) throw new UserError(allObstacles)
  return warnings
}
