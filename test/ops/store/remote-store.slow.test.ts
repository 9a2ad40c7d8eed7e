// Publications over Cloudflare's API, when each statement in turn loses its connection or its answer.
import { beforeAll, expect, test } from 'vitest'
import { openOperatorDatabase } from '../../support/operator-database.ts'
import { selectPublication } from '../../../src/db/publication-queries.ts'
import { findPlan } from '../../../src/ops/core/catalog/catalog-plans.ts'
import { cancelPublication } from '../../../src/ops/core/publications/publications.ts'
import { withRemoteStore } from '../../../src/ops/store/remote-store.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useFakeCloudflare } from '../support/fake-cloudflare.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { closePlan, openPlan } from '../support/publish-prepared.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
const remote = <T>(work: (store: Store) => Promise<T>) => withRemoteStore({ remote: true, env: 'staging' }, work)
const attribution = { actor: 'amina@example.com', command: 'test', note: null }
const request = { attribution }

beforeAll(() => publishPlans(openOperatorDatabase(bindings().DB), [makePlan({ id: 1 })]))

test.each([true, false])('a failure of any statement is repaired (%s: it had its effect)', async (hasEffect) => {
  const dueAt = Math.floor(Date.now() / 1000) + 86_400
  const run = async () => {
    const { publication } = await remote((store) => closePlan(store, 'plan-1', 'Later.', { ...request, dueAt }))
    await remote((store) => cancelPublication(store, publication?.id ?? 0, attribution))
    await remote((store) => closePlan(store, 'plan-1', 'Sold out.', request))
    await remote((store) => openPlan(store, 'plan-1', request))
    return publication?.id ?? 0
  }
  const fake = cloudflare()
  fake.statements = 0
  await run()
  const count = fake.statements
  for (let after = 0; after < count; after++) {
    fake.statements = 0
    fake.outage = { after, hasEffect, isPermanent: false }
    const id = await run()
    fake.outage = undefined
    const { state } = (await remote(({ db }) => selectPublication(db, id))) ?? { state: undefined }
    expect({ after, state }).toEqual({ after, state: 'cancelled' })
    expect((await remote((store) => findPlan(store, 'plan-1'))).isInvestable).toBe(true)
  }
})
