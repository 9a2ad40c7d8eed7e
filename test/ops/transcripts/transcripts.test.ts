// What the commands print, and the example of each command.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { accountId, apiToken } from '../../account/account.ts'
import { serve } from '../../support/loopback-server.ts'
import { makePlan } from '../../support/make-plan.ts'
import { openBindingStore } from '../support/binding-store.ts'
import { recordMigrations, useMemoryBindings } from '../support/memory-bindings.ts'
import { createMemorySecrets } from '../support/memory-secrets.ts'
import { listVerbs } from '../support/run-ops.ts'
import { replay } from '../support/transcript.ts'

const names = ['partner', 'catalog', 'plan', 'service']
const findTranscript = (name: string) => join(import.meta.dirname, `${name}.txt`)

const cash = { name: 'Mwamba Money Market Fund', coolName: 'Mwamba Cash' }
const gold = { name: 'Dhahabu Gold Tracker', coolName: 'Dhahabu Gold', category: null }
const farm = { name: 'Kilimo Farm Fund', coolName: 'Kilimo', isInvestable: false, nonInvestableNote: 'Sold out.' }
const property = { name: 'Nyumba Property Fund', coolName: 'Nyumba' }
const plans = [
  makePlan({ id: 1, identifier: 'mwamba-money-market-fund', viewableIn: ['KE', 'UG'], ...cash }),
  makePlan({ id: 2, identifier: 'dhahabu-gold-tracker', viewableIn: ['RW'], ...gold }),
  makePlan({ id: 3, identifier: 'jua-solar-fund', viewableIn: [] }),
  makePlan({ id: 4, identifier: 'kilimo-farm-fund', viewableIn: ['KE'], ...farm }),
  makePlan({ id: 5, identifier: 'nyumba-property-fund', viewableIn: ['TZ'], ...property }),
]
const water = makePlan({ id: 6, identifier: 'maji-water-fund', name: 'Maji Water Fund', coolName: 'Maji' })

describe.each(names)('%s', (name) => {
  const transcript = findTranscript(name)
  const bindings = useMemoryBindings()
  const makeSecrets = (...kids: number[]) => createMemorySecrets(...kids.map((kid) => `JWT_KEY_${kid}`))
  const local = makeSecrets(1_790_812_800, 1_767_225_600)
  /** The key that the transcript makes, which the record has. */
  const deployed = makeSecrets(1_793_606_460)

  test('is what the commands print', async () => {
    await recordMigrations(bindings())
    // Of Cloudflare's API, the commands ask only whether the database is replicated: the rest is in memory.
    const answer = JSON.stringify({ success: true, result: { read_replication: { mode: 'auto' } } })
    vi.stubEnv('CLOUDFLARE_API_BASE_URL', await serve((_, response) => response.end(answer)))
    vi.stubEnv('CLOUDFLARE_API_TOKEN', apiToken)
    vi.stubEnv('CLOUDFLARE_ACCOUNT_ID', accountId)
    const played = await replay(transcript, {
      files: {
        'plans.json': JSON.stringify({ plans }),
        'added.json': JSON.stringify({ plans: [water] }),
        'taken.json': JSON.stringify({ plans: [{ ...water, id: 1 }] }),
      },
      setNextPublication: async (id) => {
        const { DB } = bindings()
        await DB.prepare(`delete from sqlite_sequence where name = 'publications'`).run()
        await DB.prepare(`insert into sqlite_sequence values ('publications', ?)`)
          .bind(id - 1)
          .run()
      },
      variables: {},
      withStore: (target, work) => {
        const config = { CATALOG_APPROVAL: target.env === 'production' ? 'required' : 'off', PBKDF2_ITERATIONS: 1 }
        return work(openBindingStore(bindings(), target, config))
      },
      openSecrets: async ({ remote }) => (remote ? deployed : local),
      openUsage: async () => async () => [],
      requireOrigin: async () => 'http://127.0.0.1:9',
    })
    await expect(played).toMatchFileSnapshot(transcript)
  })
})

test('every command on a store has its example in a transcript, with any number, key or file', async () => {
  const generalize = (command: string) => command.replaceAll(/ (\d+|KID|FILE|\S+\.(json|txt))(?= |$)/g, ' …')
  const text = names.map((name) => readFileSync(findTranscript(name), 'utf8')).join('')
  const commands = new Set((text.match(/(?<=^\$ ops ).*$/gm) ?? []).map(generalize))
  const onStore = (await listVerbs()).filter(([, { store, passesFlagsOn }]) => store !== 'none' && !passesFlagsOn)
  const examples = onStore.map(([, { example }]) => example)
  expect(examples.filter((example) => !commands.has(generalize(example)))).toEqual([])
})
