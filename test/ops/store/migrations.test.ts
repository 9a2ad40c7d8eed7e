import { expect, test, vi } from 'vitest'
import { applyMigrations } from '../../../src/ops/store/migrations.ts'
import { UserError } from '../../../src/ops/shared/user-error.ts'

vi.mock('../../../src/ops/store/wrangler.ts', () => ({
  startWrangler: () => {},
  finishWrangler: async () => ({ exitCode: 1, output: 'incomplete input [code: 7500]' }),
}))

test('a migration that D1 refuses is quoted, with what to do', async () => {
  await expect(applyMigrations({ remote: true, env: 'staging' })).rejects.toThrow(
    new UserError([
      'incomplete input [code: 7500]',
      'The database could not be migrated. Try again: npm run -s migrate -- --remote --env staging',
      'If D1 refuses the text of a migration, see "When D1 refuses a migration" in src/worker/DEPLOY.md.',
    ]),
  )
})
