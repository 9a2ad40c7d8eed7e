// What is true in the town: the catalog and the partners, as the operators' commands must have made them. It follows each write of
// the database, applies what the command was meant to do, and compares.
import { createHash } from 'node:crypto'
import { getValue, planFilters, type FilterName, type PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import { formatMoment } from './journal.ts'
import type { World } from './town.ts'

/** A change of a value. `viewableIn.KE` is a boolean; an empty field is the whole plan, null for none. */
export interface Edit {
  planId: number
  field: string
  to: unknown
  /** Whether it replaces what others changed since. */
  isForced?: boolean
}

/** What an operator means to do. */
export interface Command {
  id: number
  actor: string
  kind: string
  /** Its partner, if it changes one. */
  shortName?: string
  country?: string
  graceSeconds?: number
  edits?: readonly Edit[]
  /** The command whose publication it takes back. */
  undoes?: Command | undefined
  /** How many of its changes are in the record. */
  commits: number
  publishedAtMs?: number | undefined
  cancelledAtMs?: number | undefined
  /** What it changed in the catalog. */
  made?: (Edit & { from: unknown })[]
}

/** The catalog since a moment. */
interface Version {
  fromMs: number
  revision: number
  plans: ReadonlyMap<number, CatalogPlan>
}

/** A partner since a moment. */
export interface PartnerState {
  fromMs: number
  kind: string
  country: string
  isSuspended: boolean
  isClosed: boolean
  /** When its tokens were ended, and whether its secrets were, too. */
  ended: { atMs: number; isLockdown: boolean } | undefined
  tokensValidFrom: number
  /** By the command that made it. */
  secrets: readonly { commandId: number; endsAtMs: number }[]
}

export interface Account {
  shortName: string
  clientId: string
  states: PartnerState[]
}

export type TownRecord = ReturnType<typeof createRecord>

/** A command has its number in the record. */
export const formatCommand = ({ id, kind }: Pick<Command, 'id' | 'kind'>) => `town ${id} ${kind}`
export const parseCommand = (text: string) => Number(/^town (\d+)/.exec(text)?.[1])

export function createRecord({ clock, d1, journal }: Pick<World, 'clock' | 'd1' | 'journal'>) {
  const commands = new Map<number, Command>()
  const accounts = new Map<string, Account>()
  const versions: Version[] = [{ fromMs: clock.nowMs(), revision: 0, plans: new Map() }]
  const publicationStates = new Map<number, string>()
  const owners = new Map<string, number>()
  const etagsByList = new Map<string, string[]>()
  let lastChangeId = 0

  const newest = () => versions.at(-1) as Version

  /** An ID or a revision is never used for two things, also after a restore. */
  function claim(what: string, owner: number): void {
    const known = owners.get(what)
    if (known !== undefined && known !== owner)
      journal.report('no ID and no revision is used twice', `${what} is of commands ${known} and ${owner}`, 'catalog')
    owners.set(what, owner)
  }

  type Publication = [
    id: number,
    state: string,
    text: string,
    base: number,
    revision: number | null,
    due: number | null,
    approver: string | null,
    author: string,
    count: number,
  ]

  function followPublications(): void {
    const open = [...publicationStates].flatMap(([id, state]) =>
      ['published', 'cancelled', 'replaced'].includes(state) ? [] : id,
    )
    const rows = d1.query<Publication>(
      `select id, state, command, base_revision, revision, due_at, approved_by, actor, plan_count from publications
       where id > ? or id in (select value from json_each(?)) order by revision is null, id`,
      Math.max(0, ...publicationStates.keys()),
      JSON.stringify(open),
    )
    for (const row of rows) {
      const [id, state, text] = row
      const before = publicationStates.get(id)
      const command = commands.get(parseCommand(text))
      if (before === state || command === undefined) continue
      publicationStates.set(id, state)
      if (before === undefined) claim(`publication ${id}`, command.id)
      if (state === 'staging') continue
      const what = `publication ${id} of command ${command.id} (${command.kind})`
      journal.note(`${what} is ${state}`, 'catalog')
      if (['waiting', 'scheduled', 'published'].includes(state)) command.commits++
      if (state === 'published') publish(command, row, what)
      if (state === 'cancelled') command.cancelledAtMs = clock.nowMs()
      if (state === 'conflicted' && listConflicts(command, row).length === 0)
        journal.report('no needless conflict', what, 'catalog')
    }
  }

  const listPlanIds = (publicationId: number) =>
    d1
      .query<[number]>('select plan_id from plan_versions where publication_id = ?', publicationId)
      .map(([planId]) => planId)

  /** What a publication must change, with the values that it expects. */
  function listEdits({ edits = [], undoes }: Command, [id, , , base]: Publication): (Edit & { from: unknown })[] {
    const planIds = new Set(listPlanIds(id))
    const baseline = versions.findLast(({ revision }) => revision === base)?.plans
    const wanted = undoes
      ? (undoes.made ?? []).map((edit) => ({ ...edit, to: edit.from, from: edit.to }))
      : edits.map((edit) => ({ ...edit, from: readField(baseline?.get(edit.planId), edit.field) }))
    return wanted.filter(({ planId }) => planIds.has(planId))
  }

  const listConflicts = (command: Command, row: Publication) =>
    listEdits(command, row).flatMap(({ planId, field, from, to, isForced }) => {
      const plan = newest().plans.get(planId)
      const now = readField(plan, field)
      const isFine = isForced || (isSame(now, from) && (plan !== undefined || field === '')) || isSame(now, to)
      return isFine ? [] : `${field} of plan ${planId}`
    })

  function publish(command: Command, row: Publication, what: string): void {
    const [id, , , , revision, due, approver, author, count] = row
    const conflicts = listConflicts(command, row)
    const planIds = listPlanIds(id)
    claim(`revision ${revision}`, command.id)
    const broken: [rule: string, isBroken: boolean, facts?: string][] = [
      [
        'revisions grow',
        (revision ?? 0) <= Math.max(...versions.map((version) => version.revision)),
        `revision ${revision}`,
      ],
      ['nothing is published twice', command.publishedAtMs !== undefined],
      ['nothing cancelled is published', command.cancelledAtMs !== undefined],
      [
        'nothing is published early',
        due !== null && clock.nowMs() < due * 1000,
        `due at ${formatMoment((due ?? 0) * 1000)}`,
      ],
      ['another operator approves', approver?.toLowerCase() === author.toLowerCase()],
      ['no update is lost', conflicts.length > 0, `it replaces what others changed: ${conflicts.join(', ')}`],
      ['a publication is whole', planIds.length !== count, `${planIds.length} of ${count} plans`],
    ]
    for (const [rule, isBroken, facts = ''] of broken)
      if (isBroken) journal.report(rule, `${what}: ${facts}`, 'catalog')

    const plans = new Map(newest().plans)
    command.made = listEdits(command, row).map((edit) => ({
      ...edit,
      from: readField(plans.get(edit.planId), edit.field),
    }))
    for (const { planId, field, to } of command.made) {
      const plan = writeField(plans.get(planId), field, to)
      if (plan) plans.set(planId, plan)
      else plans.delete(planId)
    }
    command.publishedAtMs = clock.nowMs()
    versions.push({ fromMs: clock.nowMs(), revision: revision ?? 0, plans: compareCatalog(plans, what) })
  }

  /** @returns the catalog of the database, so that a difference is reported once. */
  function compareCatalog(wanted: ReadonlyMap<number, CatalogPlan>, what: string): Map<number, CatalogPlan> {
    const rows = d1.query<[number, string, string]>(`
      select plan_id, document, viewable_in from (
        select plan_id, document, viewable_in, max(revision) from plan_versions join publications on id = publication_id
        where revision is not null group by plan_id)
      where document is not null order by plan_id`)
    const stored = new Map(
      rows.map(([id, document, viewableIn]): [number, CatalogPlan] => [
        id,
        { ...JSON.parse(document), viewableIn: JSON.parse(viewableIn) },
      ]),
    )
    for (const id of new Set([...wanted.keys(), ...stored.keys()])) {
      const [is, should] = [stored.get(id), wanted.get(id)]
      if (isSame(is, should)) continue
      const fields = Object.keys({ ...is, ...should }).filter(
        (field) => !isSame(readField(is, field), readField(should, field)),
      )
      const facts = fields.map(
        (field) =>
          `${field} is ${JSON.stringify(readField(is, field))}, not ${JSON.stringify(readField(should, field))}`,
      )
      journal.report('no update is lost', `after ${what}, of plan ${id}: ${facts.join(', ').slice(0, 400)}`, 'catalog')
    }
    return stored
  }

  type ChangeRow = [
    id: number,
    kind: string,
    text: string,
    partner: string,
    clientId: string,
    country: string,
    suspendedAt: number | null,
    closedAt: number | null,
    tokensValidFrom: number | null,
    secrets: string,
  ]

  function followPartners(): void {
    const rows = d1.query<ChangeRow>(
      `select id, kind, command, partner, client_id, country, suspended_at, closed_at, coalesce(tokens_valid_from, 0), secrets
       from change_record where id > ? and partner is not null order by id`,
      lastChangeId,
    )
    for (const [id, kind, text, shortName, clientId, country, suspendedAt, closedAt, tokensValidFrom, json] of rows) {
      lastChangeId = id
      const command = commands.get(parseCommand(text))
      if (command === undefined) continue
      claim(`change ${id}`, command.id)
      command.commits++
      const account = accounts.get(shortName) ?? { shortName, clientId, states: [] }
      accounts.set(shortName, account)
      const before = account.states.at(-1)
      const state = { ...change(before, command), tokensValidFrom: tokensValidFrom ?? 0 }
      account.states.push(state)
      journal.note(`command ${command.id} made ${kind} of ${shortName}`, shortName)
      const ends = (JSON.parse(json) as { expiresAt: number | null }[]).map(({ expiresAt }) =>
        expiresAt === null ? Infinity : expiresAt * 1000,
      )
      const movesTokens = state.tokensValidFrom > (before?.tokensValidFrom ?? 0)
      const is = [kind, country, suspendedAt !== null, closedAt !== null, movesTokens, ...ends]
      const should = [
        command.kind,
        state.country,
        state.isSuspended,
        state.isClosed,
        state.ended !== before?.ended,
        ...state.secrets.map(({ endsAtMs }) => endsAtMs),
      ]
      if (!isSame(is, should))
        journal.report(
          'no change of a partner is lost',
          `${shortName} is ${is.join()}, not ${should.join()}`,
          shortName,
        )
    }
  }

  /** A partner after a command. */
  function change(before: PartnerState | undefined, { id, kind, country, graceSeconds = 0 }: Command): PartnerState {
    const nowMs = clock.nowMs()
    const nowSeconds = Math.floor(nowMs / 1000)
    const nothing = {
      country: '',
      isSuspended: false,
      isClosed: false,
      ended: undefined,
      tokensValidFrom: 0,
      secrets: [],
    }
    const state: PartnerState = {
      ...nothing,
      ...before,
      fromMs: nowMs,
      kind,
      ...(country !== undefined && { country }),
    }
    const made = { commandId: id, endsAtMs: Infinity }
    const isLive = ({ endsAtMs }: { endsAtMs: number }) => endsAtMs > nowSeconds * 1000
    const graceEndMs = (nowSeconds + graceSeconds) * 1000
    const kept = state.secrets
      .map((secret) => ({ ...secret, endsAtMs: Math.min(secret.endsAtMs, graceEndMs) }))
      .filter(isLive)
    const older = state.secrets.filter(({ endsAtMs }) => endsAtMs < Infinity).filter(isLive)
    const changes: Record<string, Partial<PartnerState>> = {
      create: { secrets: [made] },
      suspend: { isSuspended: true },
      resume: { isSuspended: false },
      close: { isSuspended: true, isClosed: true, secrets: [] },
      rotate: { secrets: [...kept, made] },
      'replace-all': { secrets: [made] },
      'replace-newest': { secrets: [...older, made] },
      lockdown: { secrets: [made], ended: { atMs: nowMs, isLockdown: true } },
      'end-tokens': { ended: { atMs: nowMs, isLockdown: false } },
    }
    return { ...state, ...changes[kind] }
  }

  /** Time Travel. The IDs and revisions that were used since stay used. */
  function restore(toMs: number): void {
    const fromMs = clock.nowMs()
    const past = versions.findLast((version) => version.fromMs <= toMs) ?? newest()
    versions.push({ ...past, fromMs })
    d1.restore(toMs, versions.length - 1)
    for (const { states } of accounts.values()) {
      const state = states.findLast((known) => known.fromMs <= toMs)
      const gone = { ...(states[0] as PartnerState), isSuspended: true, isClosed: true, secrets: [] }
      states.push({ ...(state ?? gone), fromMs })
    }
    for (const command of commands.values()) {
      if ((command.publishedAtMs ?? 0) > toMs) command.publishedAtMs = undefined
      if ((command.cancelledAtMs ?? 0) > toMs) command.cancelledAtMs = undefined
    }
    // Their numbers are for people, and begin again there: DEPLOY.md says so.
    for (const id of publicationStates.keys()) owners.delete(`publication ${id}`)
    publicationStates.clear()
    for (const [id, state] of d1.query<[number, string]>('select id, state from publications'))
      publicationStates.set(id, state)
    lastChangeId = d1.query<[number]>('select coalesce(max(id), 0) from change_record')[0]?.[0] ?? 0
  }

  /** The ETag of a list in each version. */
  function listEtags(country: string, filter: PlanFilter): readonly string[] {
    const key = `${country} ${JSON.stringify(filter)}`
    const etags = etagsByList.get(key) ?? []
    etagsByList.set(key, etags)
    for (const { plans } of versions.slice(etags.length)) {
      const listed = [...plans.values()]
        .filter((plan) => plan.viewableIn.includes(country))
        .filter((plan) =>
          Object.entries(filter).every(([name, value]) => getValue(plan, planFilters[name as FilterName]) === value),
        )
        .toSorted((a, b) => a.id - b.id)
        .map(({ viewableIn: _, ...plan }) => plan)
      const data = { total: listed.length, plans: listed }
      etags.push(computeEtag(JSON.stringify({ message: 'Plans fetched successfully', data })))
    }
    return etags
  }

  d1.watch(() => {
    followPartners()
    followPublications()
    return versions.length - 1
  })
  return {
    commands,
    accounts,
    versions: versions as readonly Version[],
    newest,
    restore,
    listEtags,
    /** The scheduled publications whose time came before. */
    listOverdue: (beforeMs: number) =>
      d1.query<[text: string, due: number]>(
        "select command, due_at from publications where state = 'scheduled' and due_at < ?",
        beforeMs / 1000,
      ),
  }
}

export function computeEtag(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest().subarray(0, 16).toString('base64url')}"`
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

const parseCountry = (field: string) => /^viewableIn\.(..)$/.exec(field)?.[1]

function readField(plan: CatalogPlan | undefined, field: string): unknown {
  const country = parseCountry(field)
  if (country !== undefined) return plan?.viewableIn.includes(country) ?? false
  return field === '' ? plan : plan?.[field as keyof CatalogPlan]
}

function writeField(plan: CatalogPlan | undefined, field: string, to: unknown): CatalogPlan | undefined {
  if (field === '') return (to ?? undefined) as CatalogPlan | undefined
  const country = parseCountry(field)
  if (plan === undefined) return undefined
  if (country === undefined)
    return { ...plan, [field]: to, ...(field === 'nonInvestableNote' && { isInvestable: to === null }) }
  const others = plan.viewableIn.filter((code) => code !== country)
  return { ...plan, viewableIn: to === true ? [...others, country].toSorted() : others }
}
