// Commands that change the catalog, cut off at every single statement. The stand-in for Cloudflare runs each statement
// alone, so nothing here depends on a transaction of the transport.
import { describe, expect, test } from 'vitest'
import { formatCatalog } from '../../src/ops/core/file-formats/catalog-file.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { openOperatorDatabase } from '../support/operator-database.ts'
import { selectPlanList } from '../../src/db/plan-queries.ts'
import { makePlan } from '../support/make-plan.ts'
import { publishAs, publishPlans } from '../support/publish-plans.ts'
import { useFakeCloudflare, type Outage } from './support/fake-cloudflare.ts'
import { useMemoryBindings } from './support/memory-bindings.ts'
import { runCommand } from './support/run-ops.ts'
import { emptyDatabase } from './support/test-database.ts'

const bindings = useMemoryBindings()
const cloudflare = useFakeCloudflare(bindings)
const countries = ['KE', 'RW', 'UG']

interface TestCommand {
  /** `LAST` is the ID of the publication that made the last plan. */
  words: string
  stdin?: string
  catalog: readonly CatalogPlan[]
}

const open = makePlan({ id: 1 })
const closed = makePlan({ id: 2, isInvestable: false, nonInvestableNote: 'Not yet.' })
/** Only the next command changes this plan. Its names are its own: a warning about a namesake asks before it publishes. */
const other = makePlan({ id: 3, name: 'Other', coolName: 'Other', viewableIn: ['RW'] })
const nextCommand = 'plan offer plan-3 --country UG'
const small = [open, other, closed]

/** Long enough that an import stages them in several statements. */
const about = 'Holds treasury bills. '.repeat(400)
const fill = (firstId: number, count: number, name: string, viewableIn: string[]) =>
  Array.from({ length: count }, (_, index) => makePlan({ id: firstId + index, name, about, viewableIn }))
const large = [...fill(100, 40, 'Old', ['KE', 'UG']), ...fill(200, 15, 'Removed', ['KE', 'RW']), other]
const file = formatCatalog([other, ...fill(100, 40, 'New', ['KE', 'RW']), ...fill(300, 15, 'Added', ['RW', 'UG'])])

const commands: TestCommand[] = [
  { words: 'catalog import - --prune --yes', stdin: file, catalog: large },
  { words: 'catalog import - --prune --yes --at 2035-01-01T00:00Z', stdin: file, catalog: large },
  { words: 'catalog undo LAST --yes', catalog: small },
  { words: 'invalidate', catalog: small },
  { words: 'plan offer plan-1 --country RW', catalog: small },
  { words: 'plan withdraw plan-1 --country KE --yes --at 2035-01-01T00:00Z', catalog: small },
  { words: 'plan close plan-1 --yes --public-note Sold', catalog: small },
  { words: 'plan close plan-1 --yes --public-note Sold --at 2035-01-01T00:00Z', catalog: small },
]

/** Without warnings and notes: the commands remove plans on purpose. */
async function run(words: string, stdin = '') {
  const result = await runCommand([...words.split(' '), '--json', '--remote', '--env', 'staging'], {}, { stdin })
  return { ...result, stderr: result.stderr.replaceAll(/^(Warning|Note): .*\n/gm, '') }
}

/** Makes a catalog with two publications. @returns the ID of the second. */
async function resetCatalog(plans: readonly CatalogPlan[]): Promise<string> {
  await emptyDatabase(bindings())
  for (const part of [plans.slice(0, -1), plans.slice(-1)])
    await publishPlans(openOperatorDatabase(bindings().DB), part)
  const [last] = await select<{ id: number }>('select max(id) as id from publications')
  return String(last?.id)
}

async function select<Row>(sql: string): Promise<Row[]> {
  return (await bindings().DB.prepare(sql).all<Row>()).results
}

/** What partners of every country see, without the plan that the next command changes. */
async function readLists(): Promise<string> {
  const lists = await Promise.all(countries.map((country) => selectPlanList(bindings().DB, country, {})))
  return JSON.stringify(
    lists.map(({ documents }) => documents.filter((document) => JSON.parse(document).id !== other.id)),
  )
}

const selectScheduled = () => select<{ id: number }>("select id from publications where state = 'scheduled'")
async function selectRevision(): Promise<number | undefined> {
  return (await select<{ revision: number }>('select max(revision) as revision from publications'))[0]?.revision
}

/** Publishes what is scheduled, and returns the lists then. */
async function readListsAfterSchedule(): Promise<string> {
  const { DB } = bindings()
  const db = openOperatorDatabase(DB)
  await DB.prepare("update publications set due_at = 60 where state = 'scheduled'").run()
  for (const { id } of await selectScheduled()) {
    const decision = { publicationId: id, actor: 'schedule', note: null }
    expect(await publishAs(db, decision, 'due')).toMatchObject({ kind: 'published' })
  }
  return readLists()
}

/** What a command says about its change. */
function readClaim({ code, stdout, stderr }: Awaited<ReturnType<typeof run>>): string {
  if (code === 0 && stderr === '') return 'made'
  const [, claim = ''] = /^Can't reach 127\.0\.0\.1:\d+: \w+\.\n([^]+)\n$/.exec(stderr) ?? ['', stderr]
  if (code !== 2 || stdout !== '') return `${code}: ${stdout}${stderr}`
  if (claim.startsWith('It is not known whether the change was made')) return 'unknown'
  if (claim.startsWith('The change was made')) return 'made'
  return claim === 'Nothing was changed.' ? 'not made' : claim
}

describe.each<[string, Omit<Outage, 'after'>]>([
  ['is killed', { hasEffect: false, isPermanent: true }],
  ['loses the connection for one statement', { hasEffect: false, isPermanent: false }],
  ['loses the answer to one statement', { hasEffect: true, isPermanent: false }],
  ['loses the answer to one statement, and then the connection', { hasEffect: true, isPermanent: true }],
])('a command that %s makes all of its change or nothing, and says which', (_, outage) => {
  test.each(commands)('$words', async ({ words, stdin, catalog }) => {
    const isScheduled = words.includes('--at')
    const id = await resetCatalog(catalog)
    const before = await readLists()
    expect(await run(words.replace('LAST', id), stdin)).toMatchObject({ code: 0, stderr: '' })
    const after = await readListsAfterSchedule()
    expect(after === before).toBe(words === 'invalidate')

    let isReached = true
    for (let number = 0; isReached; number++) {
      const command = words.replace('LAST', await resetCatalog(catalog))
      const revision = await selectRevision()
      cloudflare().statements = 0
      cloudflare().outage = { after: number, ...outage }
      const claim = readClaim(await run(command, stdin))
      isReached = cloudflare().statements > number
      cloudflare().outage = undefined
      const isMade = isScheduled ? (await selectScheduled()).length > 0 : (await selectRevision()) !== revision
      const lists = await readLists()

      const next = await run(nextCommand)
      const listsAfterNext = await readLists()
      const partial = await select(
        `select id, state from publications where state != 'staging' and plan_count !=
          (select count(*) from plan_versions where publication_id = publications.id)`,
      )
      if (!isScheduled && !isMade) await run(command, stdin)
      const listsAtTheEnd = await readListsAfterSchedule()

      expect({
        number,
        claim,
        isWhole: lists === (isMade && !isScheduled ? after : before),
        next: { code: next.code, stderr: next.stderr, isAlone: listsAfterNext === lists },
        partial,
        isWholeAtTheEnd: listsAtTheEnd === (isScheduled && !isMade ? before : after),
      }).toEqual({
        number,
        // What fails once is repeated.
        claim: !outage.isPermanent ? 'made' : claim === 'unknown' ? claim : isMade ? 'made' : 'not made',
        isWhole: true,
        next: { code: 0, stderr: '', isAlone: true },
        // Every publication has all of its plans.
        partial: [],
        isWholeAtTheEnd: true,
      })
    }
  })
})
