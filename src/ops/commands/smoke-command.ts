// The code of npm run smoke.
import { findIncompleteCredentials, runSmokeTest } from '../core/smoke-test.ts'
import { UserError } from '../shared/user-error.ts'
import type { Handler } from './declaration.ts'
import type { smokeDeclaration } from './programs.ts'

export const smokeCommand: Handler<typeof smokeDeclaration> = async (
  { url: origin, version },
  { variables, clock, report },
) => {
  const incomplete = findIncompleteCredentials(variables)
  if (incomplete !== undefined) throw new UserError(incomplete)
  const outcome = await runSmokeTest({ origin, version, variables }, clock, report)
  if (outcome === 'unreachable') throw new UserError('The address did not answer, so nothing else was checked.')
  if (outcome === 'failed') throw new UserError('The smoke test failed: see the lines with FAIL.', 3)
}
