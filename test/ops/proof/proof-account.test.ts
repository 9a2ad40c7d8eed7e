import { expect, test } from 'vitest'
import { findProofObstacles, type Found } from '../../../src/ops/proof/proof-account.ts'

const environment = { env: 'proof', hasRoute: false, databaseId: undefined, namespaceId: undefined }

function find({
  environment: changed = {},
  taken = [],
  partners = 0,
}: Partial<Omit<Found, 'environment'>> & { environment?: Partial<Found['environment']> } = {}) {
  return findProofObstacles({ environment: { ...environment, ...changed }, taken, partners })
}

test('an environment that has nothing can be proved on', () => {
  expect(find()).toEqual([])
})

test.each(['production', 'staging', 'prod-eu', 'live'])('%s can not', (env) => {
  expect(find({ environment: { env } })).toEqual([`${env} is no environment to prove on: use --env proof.`])
})

test('one with partners can not, and everything that is there is named', () => {
  const taken: Found['taken'] = [
    { kind: 'Worker', name: 'catalog-proof' },
    { kind: 'KV namespace', name: 'catalog-proof', id: '2' },
    { kind: 'database', name: 'catalog-proof', id: '1' },
  ]
  expect(find({ environment: { hasRoute: true, databaseId: '1' }, taken, partners: 2 })).toEqual([
    'The environment proof has partners (2), which the proof would delete.',
    '[env.proof] has a route. The proof uses only workers.dev: remove the route.',
    'wrangler.toml has an ID in [env.proof], so somebody uses it. The proof makes an environment of its own.',
    'The account has the Worker catalog-proof, which this run did not make.',
    'The account has the KV namespace catalog-proof, which this run did not make.',
    'The account has the database catalog-proof, which this run did not make.',
  ])
})

test('what an earlier proof may have left is deleted by a command that asks', () => {
  const [line] = find({ taken: [{ kind: 'Worker', name: 'catalog-proof' }] })
  expect(line).toMatch(/If an earlier proof left it: npx wrangler delete --name catalog-proof$/)
})
