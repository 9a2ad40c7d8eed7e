// The command `npm run smoke`: calls a running service as a partner does.
import { describeIncompleteCredentials, runSmokeTest } from '../../core/service/smoke-test.ts'
import { UserError } from '../../shared/user-error.ts'
import { parseOrigin } from '../frame/shared-flags.ts'
import { verb } from '../frame/verb.ts'

export const smoke = verb({
  help: `Call a running service as a partner does, and print one line per check. The credentials are in
CLIENT_ID, CLIENT_SECRET and SHORT_NAME; without these variables, only refusals and the site are checked.`,
  example: 'smoke --url https://catalog.example.com',
  flags: {
    url: { value: '<url>', help: 'the origin of the service', isRequired: true, parse: parseOrigin },
  },
  store: 'none',
  async run({ url: origin }, { variables, clock, report }) {
    const credentialsProblem = describeIncompleteCredentials(variables)
    if (credentialsProblem !== undefined) throw new UserError(credentialsProblem)
    const { outcome } = await runSmokeTest({ origin, variables }, clock, report)
    if (outcome === 'unreachable')
      throw new UserError('The service did not answer, so nothing else was checked. Check the address in --url.')
    return outcome === 'failed' ? { reasonToAct: 'The smoke test failed: see the lines with FAIL.' } : undefined
  },
})
