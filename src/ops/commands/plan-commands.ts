// plan list, show, view, close, open, why
import type { Command } from 'commander'
import { listMatchingFilters } from '../../catalog/plan-filters.ts'
import { abbreviate, planSchema, type CatalogPlan } from '../../catalog/plan-schema.ts'
import {
  hidePlanStatements,
  selectCatalog,
  selectCatalogPlan,
  selectCatalogVersion,
  showPlanStatements,
  updateInvestableStatements,
} from '../../db/catalog-queries.ts'
import type { Database, Statement } from '../../db/database.ts'
import type { Partner } from '../../db/partner-queries.ts'
import { findCountryProblem } from '../core/country.ts'
import type { Io } from '../terminal/io.ts'
import { findPartner, toIsoTime } from './partner-commands.ts'
import { withProgress } from '../terminal/progress.ts'
import { writeVersion } from './catalog-commands.ts'
import { changeAndPurge } from '../core/purge-cache.ts'
import { addCommand, describeCommand, type Target } from '../store/target.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import { UserError } from '../core/user-error.ts'

interface OutputOptions {
  json?: boolean
}

export function addPlanCommands(program: Command, io: Io): void {
  const plan = program
    .command('plan')
    .description('see single plans, and who sees them; ID is a plan’s identifier, or its id')
  const add = (usage: string, description: string, example: string, json: string) =>
    addCommand(plan, usage, description, example).option('--json', `print ${json}`)

  add('list', 'list the plans, or those that are viewable in a country', 'list --country KE', 'an array')
    .option('--country <code>', 'only the plans that are viewable in this country')
    .action(async ({ country, json, ...target }: { country?: string } & OutputOptions & Target) => {
      const problem = country === undefined ? undefined : findCountryProblem('--country', country)
      if (problem) throw new UserError(problem)
      const plans = await withProgress(io, 'Reading the catalog', () =>
        io.withStore(target, ({ db }) => selectCatalog(db, country)),
      )
      if (json) io.stdout.write(`${JSON.stringify(plans.map(summarise))}\n`)
      else {
        const rows = plans.map((row) => ({
          IDENTIFIER: row.identifier,
          'FUND TYPE': row.fundType,
          CURRENCY: row.currency,
          INVESTABLE: row.isInvestable ? 'yes' : 'no',
          'VIEWABLE IN': row.viewableIn.join(' '),
        }))
        io.stdout.write(formatTable(rows))
        if (rows.length === 0) io.stderr.write('There is no such plan.\n')
      }
    })

  add(
    'show <id>',
    'show a plan in every field',
    'show dhahabu-gold-tracker',
    'the plan as a catalog file has it',
  ).action(async (id: string, { json, ...target }: OutputOptions & Target) => {
    const found = await io.withStore(target, ({ db }) => findPlan(db, id, target))
    if (json) io.stdout.write(`${JSON.stringify(found)}\n`)
    else {
      io.stdout.write(formatPairs(Object.entries(found).map(([name, value]) => [name, formatValue(value)])))
    }
  })

  add(
    'view <id>',
    'put a plan on a country’s list, or take it off',
    'view mwamba-money-market-fund --country KE --off',
    'the plan',
  )
    .option('--country <code>', 'the country, ISO 3166-1 alpha-2')
    .option('--off', 'take it off')
    .action(async (id: string, options: { country?: string; off?: boolean } & OutputOptions & Target) => {
      const { country = '', off = false } = options
      const problem = findCountryProblem('--country', country)
      if (problem) throw new UserError(problem)
      await change(io, id, options, (db, version, known) => {
        const others = known.viewableIn.filter((code) => code !== country)
        const viewableIn = off ? others : [...others, country].toSorted()
        const isDone = viewableIn.length === known.viewableIn.length
        const makeStatements = off ? hidePlanStatements : showPlanStatements
        const statements = isDone ? [] : makeStatements(db, version, known.id, country)
        return { changed: { ...known, viewableIn }, statements, countries: [country] }
      })
    })

  add(
    'close <id>',
    'say that a plan takes no new investment; it stays on its lists',
    'close mwamba-money-market-fund --note "Sold out."',
    'the plan',
  )
    .option('--note <text>', 'why, for partners to show')
    .action(async (id: string, options: { note?: string } & OutputOptions & Target) => {
      const { data: note, error } = planSchema.shape.nonInvestableNote.safeParse(options.note)
      if (!note) {
        const expected = error?.issues[0]?.message ?? 'text of 1 to 2000 characters'
        throw new UserError(`--note has to be ${expected}; it is ${abbreviate(options.note)}.`)
      }
      await setInvestable(id, note, options)
    })

  add(
    'open <id>',
    'say that a plan takes new investment again; its note goes',
    'open mwamba-money-market-fund',
    'the plan',
  ).action((id: string, options: OutputOptions & Target) => setInvestable(id, null, options))

  function setInvestable(id: string, nonInvestableNote: string | null, options: OutputOptions & Target): Promise<void> {
    return change(io, id, options, (db, version, known) => {
      const isDone = known.nonInvestableNote === nonInvestableNote
      return {
        changed: { ...known, isInvestable: nonInvestableNote === null, nonInvestableNote },
        statements: isDone ? [] : updateInvestableStatements(db, version, known.id, nonInvestableNote),
        countries: known.viewableIn,
      }
    })
  }

  add(
    'why <id>',
    'say in one line why a partner sees a plan or does not',
    'why mwamba-money-market-fund --partner acme',
    'an object',
  )
    .requiredOption('--partner <short-name>', 'the partner that asks')
    .action(
      async (id: string, { partner: shortName, json, ...target }: { partner: string } & OutputOptions & Target) => {
        const { partner, found } = await io.withStore(target, async ({ db }) => ({
          partner: await findPartner(db, shortName, target),
          found: await selectCatalogPlan(db, id),
        }))
        const answer = explain(partner, id, found, target)
        io.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${answer.sentence} ${answer.mend}\n`)
      },
    )
}

function formatValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface Explanation {
  isSeen: boolean
  reason: 'partner_suspended' | 'no_such_plan' | 'not_viewable' | 'viewable'
  sentence: string
  /** The command that would change it. */
  mend: string
}

/** In the order of what has to be mended first. */
function explain(
  { shortName, country, suspendedAt }: Partner,
  id: string,
  plan: CatalogPlan | undefined,
  target: Target,
): Explanation {
  const command = (...words: string[]) => describeCommand(target, ...words)
  if (suspendedAt !== null) {
    const sentence = `${shortName} sees no plan: it is suspended since ${toIsoTime(suspendedAt)}.`
    return {
      isSeen: false,
      reason: 'partner_suspended',
      sentence,
      mend: `To resume it: ${command('partner', 'resume', shortName)}`,
    }
  }
  if (plan === undefined) {
    const sentence = `${shortName} does not see ${abbreviate(id)}: there is no such plan.`
    return {
      isSeen: false,
      reason: 'no_such_plan',
      sentence,
      mend: `To see what there is: ${command('plan', 'list')}; to add it: ${command('catalog', 'import', 'FILE')}`,
    }
  }
  const view = ['plan', 'view', plan.identifier, '--country', country]
  if (!plan.viewableIn.includes(country)) {
    const elsewhere = plan.viewableIn.length === 0 ? 'anywhere' : `there, only in ${plan.viewableIn.join(', ')}`
    const sentence = `${shortName} does not see ${plan.identifier}: it lists the plans of ${country}, and the plan is not viewable ${elsewhere}.`
    return { isSeen: false, reason: 'not_viewable', sentence, mend: `To put it on the list: ${command(...view)}` }
  }
  const filters = listMatchingFilters(plan)
  const closed = plan.isInvestable ? '' : ' Its being closed to investment does not matter to that.'
  const sentence = `${shortName} sees ${plan.identifier}: it is viewable in ${country}, without a filter or with any of ${filters.map((filter) => filter.replaceAll(/[\s\p{C}]+/gu, ' ')).join(', ')}.${closed}`
  return { isSeen: true, reason: 'viewable', sentence, mend: `To take it off the list: ${command(...view, '--off')}` }
}

function summarise({ id, identifier, name, fundType, currency, category, isInvestable, viewableIn }: CatalogPlan) {
  return { id, identifier, name, fundType, currency, categoryId: category?.id ?? null, isInvestable, viewableIn }
}

/** @throws UserError when there is no such plan. */
async function findPlan(db: Database, identifier: string, target: Target): Promise<CatalogPlan> {
  const found = await selectCatalogPlan(db, identifier)
  if (found) return found
  const list = describeCommand(target, 'plan', 'list')
  throw new UserError(`There is no plan ${abbreviate(identifier)}. See: ${list}`)
}

/** No statements when all is as asked for already. `countries` are those whose lists the change is about. */
interface Change {
  changed: CatalogPlan
  statements: Statement[]
  countries: string[]
}

async function change(
  io: Io,
  id: string,
  { json, ...target }: OutputOptions & Target,
  decide: (db: Database, version: number, known: CatalogPlan) => Change,
): Promise<void> {
  const changed = await io.withStore(target, async (store) => {
    const version = await selectCatalogVersion(store.db)
    const { changed: decided, statements, countries } = decide(store.db, version, await findPlan(store.db, id, target))
    await changeAndPurge(io, store, { countries }, async () => {
      if (statements.length > 0) await writeVersion(store, statements)
    })
    return decided
  })
  const where = changed.viewableIn.length === 0 ? 'nowhere' : `in ${changed.viewableIn.join(', ')}`
  const investable = changed.isInvestable ? 'open to investment' : 'closed to investment'
  io.stdout.write(
    json ? `${JSON.stringify(changed)}\n` : `${changed.identifier} is viewable ${where}, and ${investable}.\n`,
  )
}
