import { beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../../src/db/database.ts'
import { createPartner, changePartner } from '../../../src/ops/core/partner-accounts.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { publishPlans } from '../../support/publish-plans.ts'
import { useMemoryBindings } from '../support/memory-bindings.ts'
import { printed, runCommand } from '../support/run-ops.ts'

const bindings = useMemoryBindings()
const openStore = (target = {}) => openBindingStore(bindings(), target)
const attribution = { actor: 'test', command: 'test', note: null }
const { viewableIn: _viewableIn, ...plan } = makePlan({ viewableIn: ['KE'] })

beforeAll(async () => {
  await publishPlans(openDatabase(bindings().DB), [
    makePlan({ viewableIn: ['KE'] }),
    makePlan({ id: 2, viewableIn: ['UG'] }),
  ])
  for (const [shortName, country] of [
    ['acme', 'KE'],
    ['paris', 'FR'],
    ['paused', 'KE'],
  ] as const) {
    await createPartner(openStore(), { shortName, name: shortName, country }, attribution)
  }
  await changePartner(openStore(), { kind: 'suspend', partner: 'paused' }, { attribution, warn: () => {} })
})

const preview = (...args: string[]) =>
  runCommand(['partner', 'preview', ...args], { withStore: (target, work) => work(openStore(target)) })

test('partner preview prints what the partner gets, as a table or as in the response', async () => {
  expect(await preview('acme')).toEqual(
    printed(`ID  COOL NAME    FUND TYPE     CURRENCY  1 YEAR  MINIMUM           INVESTABLE
1   Mwamba Cash  MONEY_MARKET  KES       13.1 %  1000 KES, 10 USD  yes
`),
  )
  expect(JSON.parse((await preview('acme', '--json')).stdout)).toEqual([plan])
})

test.each([
  [['paris'], 0, 'No plan is viewable in FR.\n'],
  [['nobody'], 2, 'There is no partner "nobody". See: npm run -s ops -- partner list\n'],
  [['paused'], 2, expect.stringMatching(/^paused gets no list: it is suspended since .*partner resume paused\n$/)],
])('partner preview %j says why there is no list', async (args, code, stderr) => {
  expect(await preview(...args)).toEqual({ code, stdout: '', stderr })
})
