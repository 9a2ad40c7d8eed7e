// token-route.test.ts has how long a secret is remembered.
import { expect, test } from 'vitest'
import { createVerifiedSecrets } from '../../../src/worker/token/verified-secrets.ts'

test('does not take one client’s secret for another’s', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1 })
  ;(await secrets.recall({ clientId: 'client', clientSecret: 'secret' }, 0)).remember('hash')
  expect((await secrets.recall({ clientId: 'other', clientSecret: 'secret' }, 0)).hash).toBeUndefined()
})

test('remembers at most maxSecrets secrets', async () => {
  const secrets = createVerifiedSecrets({ maxSecrets: 10, lifetimeMs: 1 })
  const recall = (index: number) => secrets.recall({ clientId: 'client', clientSecret: `secret ${index}` }, 0)
  for (let index = 0; index <= 10; index++) (await recall(index)).remember(`hash ${index}`)
  expect([(await recall(0)).hash, (await recall(1)).hash]).toEqual([undefined, 'hash 1'])
})
