// A database with every kind of row, and its backup.
import { applyD1Migrations, reset } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { selectCatalogAt } from '../../../src/db/publication-queries.ts'
import { decide } from '../../../src/db/publish.ts'
import { listKeyEntries, listPartnerEntries, verifyChangeRecord } from '../../../src/ops/core/change-record.ts'
import { readBackup, restoreBackup } from '../../../src/ops/core/backup.ts'
import { rotateKeys, type Rotation } from '../../../src/ops/core/key-ring.ts'
import { changePartner, createPartner, listPartners, type Credentials } from '../../../src/ops/core/partner-accounts.ts'
import { closePlan, setViewable } from '../../../src/ops/core/plan-changes.ts'
import { listPublications, readPublication, verifyRecord } from '../../../src/ops/core/publication-log.ts'
import { prepareUndo } from '../../../src/ops/core/publication-undo.ts'
import { approvePublication, cancelPublication, publishChange } from '../../../src/ops/core/publications.ts'
import type { Store } from '../../../src/ops/store/store.ts'
import { makePlan } from '../../support/make-plan.ts'
import { createChanges } from './partner-changes.ts'
import { attribution, careful, importPlans, operator, request, store } from './worker-store.ts'

const dayS = 86_400
const { replace, rotate } = createChanges()

export async function emptyStores(): Promise<void> {
  await reset()
  await applyD1Migrations(env.DB, env.TEST_MIGRATIONS)
}

/** Every table, and every kind of row. */
export async function fillDatabase(): Promise<Credentials[]> {
  const credentials: Credentials[] = []
  const strange = 'O’Hara\u2028"Ω" \\ \n 🦓 \u0007'
  await importPlans([
    makePlan({ id: 1, about: strange, viewableIn: ['KE', 'UG'] }),
    makePlan({ id: 2, performance1: null, category: null, minTopUpAmounts: {} }),
    makePlan({ id: 3, performance1: -0.25, isInvestable: false, nonInvestableNote: 'Not yet.' }),
  ])
  await setViewable(store, 'plan-2', { countries: ['RW'], isViewable: true }, request)
  const closing = await closePlan(store, 'plan-1', 'Sold out.', request)
  const undoneId = closing.publication?.id ?? 0
  await publishChange(store, await prepareUndo(store, undoneId), { ...request, undoneId })
  const later = { ...request, dueAt: Math.floor(Date.now() / 1000) + dayS }
  const propose = async (name: string, on: Store) => (await closePlan(on, name, 'Soon.', later)).publication?.id ?? 0
  await propose('plan-2', store)
  const boris = { ...attribution, actor: 'boris@example.com', note: strange }
  for (const isCancelled of [false, true]) {
    const conflicting = { publicationId: await propose('plan-1', store), note: 'x', isPublishing: false }
    await decide(store, { ...conflicting, kind: 'conflicted', actor: 'schedule' })
    if (isCancelled) await cancelPublication(store, conflicting.publicationId, boris)
  }
  await cancelPublication(careful, await propose('plan-3', careful), boris)
  await approvePublication(careful, await propose('plan-3', careful), boris)
  await closePlan(careful, 'plan-1', 'Waits.', request)
  await env.DB.exec(
    `insert into publications (state, actor, command, created_at, base_revision, plan_count, needs_approval) values ('staging', 'a', 'b', 1, 0, 0, 0)`,
  )

  for (const shortName of ['acme', 'boda', 'gone', 'held']) {
    credentials.push(await createPartner(store, { shortName, name: strange.slice(0, 6), country: 'KE' }, attribution))
  }
  credentials.push(await rotate(dayS))
  await changePartner(store, { kind: 'set-country', partner: 'boda', country: 'UG' }, operator)
  await changePartner(store, { kind: 'set-contact', partner: 'boda', contact: 'dev@boda.example' }, operator)
  await changePartner(store, { kind: 'suspend', partner: 'held' }, operator)
  await changePartner(store, { kind: 'end-tokens', partner: 'boda' }, operator)
  await replace({ kind: 'lockdown' }, store, 'held')
  await changePartner(store, { kind: 'close', partner: 'gone' }, operator)
  const keys = { list: async () => [], checkEditable: async () => {}, drop: async () => {} }
  const rotation = { waitSeconds: 0, onWait: () => {}, confirmReplacement: async () => {} }
  const ring = { ...keys, rotate: ({ recorded }: Rotation) => recorded('new', async () => {}) }
  await rotateKeys(ring, store, attribution, rotation)
  return credentials
}

export async function backup(): Promise<string> {
  let text = ''
  for await (const chunk of readBackup(store, () => {})) text += chunk
  return text
}
/** The rows of a backup, without its time and its hash. */
export function readRows(text: string): string {
  return text.split('\n').slice(1, -2).join('\n')
}

export const restore = (text: string, on = store) =>
  restoreBackup(
    on,
    () => linesOf(text),
    () => {},
  )

async function* linesOf(text: string): AsyncGenerator<string> {
  for (const line of text.split('\n')) if (line !== '') yield line
}

export async function readRecords() {
  const publications = await listPublications(store, {})
  return {
    publications: await Promise.all(publications.map(({ id }) => readPublication(store, id))),
    verified: await verifyRecord(store),
    partners: await listPartners(store),
    partnerEntries: await listPartnerEntries(store, {}),
    keyEntries: await listKeyEntries(store, {}),
    verifiedRecord: await verifyChangeRecord(store),
    past: await Promise.all(publications.map(({ revision }) => selectCatalogAt(store.read, revision ?? 0))),
  }
}
