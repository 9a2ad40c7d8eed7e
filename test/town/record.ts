// What is true in the town: the catalog and the partners, as the operators' commands must have made them. It follows each write of
// the database, applies what its command was meant to do, and compares.
import { createHash } from 'node:crypto'
import { getValue, planFilters, type PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import type { Clock } from './clock.ts'
import type { D1World } from './d1-world.ts'
import type { Journal } from './journal.ts'

/** A change of one value of a plan. `viewableIn.KE` is a boolean; an empty field is the whole plan, null for none. */
export interface Edit {
  planId: number
  field: string
  to: unknown
  /** Whether it replaces what others changed since. */
  isForced?: boolean
}

/** What an operator's command is meant to do. */
export interface Command {
  id: number
  actor: string
  kind: string
  /** Its partner, if it is about one. */
  shortName?: string
  country?: string
  graceSeconds?: number
  edits?: readonly Edit[]
  /** The command whose publication it takes back. */
  undoes?: Command
  dueAtSeconds?: number | undefined
  /** How many of its changes are in the record. */
  commits: number
  publishedAtMs?: number | undefined
  cancelledAtMs?: number | undefined
  /** What it did to the catalog. */
  applied?: { planId: number; field: string; before: unknown; after: unknown }[]
}

/** A version of the catalog. */
export interface Version {
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
  /** When all of its tokens were ended, and whether all secrets were, too. */
  ended: { atMs: number; isLockdown: boolean } | undefined
  tokensValidFrom: number
  /** By the command that made them. */
  secrets: readonly { commandId: number; endsAtMs: number }[]
}

export interface Account {
  shortName: string
  clientId: string
  states: PartnerState[]
}

export type TownRecord = ReturnType<typeof createRecord>

/** A command puts its number there. */
export const formatCommand = ({ id, kind }: Command) => `town ${id} ${kind}`
const parseCommand = (text: string) => Number(/^town (\d+)/.exec(text)?.[1])

type PublicationRow = [
  id: number,
  state: string,
  command: string,
  base: number,
  revision: number | null,
  due: number | null,
  approver: string | null,
  actor: string,
  planCount: number,
]

export function createRecord(clock: Clock, d1: D1World, journal: Journal) {
  const commands = new Map<number, Command>()
  const accounts = new Map<string, Account>()
  const versions: Version[] = [{ fromMs: clock.nowMs(), revision: 0, plans: new Map() }]
  const states = new Map<number, string>()
  const owners = {
    publication: new Map<number, number>(),
    change: new Map<number, number>(),
    revision: new Map<number, number>(),
  }
  const etags = new Map<string, { etags: string[]; bodies: Map<string, number> }>()
  let lastChangeId = 0

  const newest = () => versions.at(-1) as Version
  const findCommand = (text: string) => commands.get(parseCommand(text))

  /** No ID and no revision is ever used for two things, also after a restore. */
  function claim(kind: keyof typeof owners, id: number, owner: number): void {
    const known = owners[kind].get(id)
    if (known !== undefined && known !== owner) {
      journal.report(`no ${kind} ID is used twice`, `${kind} ${id} is of commands ${known} and ${owner}`)
    }
    owners[kind].set(id, owner)
  }

  function onWrite(): number {
    followPartners()
    followPublications()
    return versions.length - 1
  }

  function followPublications(): void {
    const open = JSON.stringify([...states].flatMap(([id, state]) => (isOpen(state) ? id : [])))
    const lastId = Math.max(0, ...states.keys())
    const rows = d1.query<PublicationRow>(
      `select id, state, command, base_revision, revision, due_at, approved_by, actor, plan_count from publications
       where id > ? or id in (select value from json_each(?)) order by revision is null, id`,
      lastId,
      open,
    )
    for (const row of rows) {
      const [id, state, text] = row
      const before = states.get(id)
      if (before === state) continue
      states.set(id, state)
      const command = findCommand(text)
      if (command === undefined) continue
      if (before === undefined) claim('publication', id, command.id * 1000 + id)
      if (state !== 'staging')
        journal.note(`publication ${id} of command ${command.id} (${command.kind}) is ${state}`, 'catalog')
      if (state === 'waiting' || state === 'scheduled' || state === 'published') command.commits++
      if (state === 'published') publish(command, row)
      if (state === 'cancelled') command.cancelledAtMs = clock.nowMs()
      if (state === 'conflicted' && listConflicts(command, row).length === 0) {
        journal.report(
          'no needless conflict',
          `publication ${id} of command ${command.id} conflicted, though nobody changed the same`,
          'catalog',
        )
      }
    }
  }

  function findBase(revision: number): Version {
    return versions.findLast((version) => version.revision === revision) ?? (versions[0] as Version)
  }

  /** The edits that a publication must make: those of its command, or the reverse of what another one did. */
  function listEdits(command: Command, planIds: ReadonlySet<number>) {
    const reversed = command.undoes?.applied?.map(({ planId, field, before, after }) => ({
      planId,
      field,
      to: before,
      base: after,
    }))
    const edits: (Edit & { base?: unknown })[] = reversed ?? [...(command.edits ?? [])]
    return edits.filter(({ planId }) => planIds.has(planId))
  }

  const listPlanIds = (id: number) =>
    new Set(
      d1.query<[number]>('select plan_id from plan_versions where publication_id = ?', id).map(([planId]) => planId),
    )

  function listConflicts(command: Command, [id, , , base]: PublicationRow): string[] {
    const baseline = findBase(base).plans
    return listEdits(command, listPlanIds(id)).flatMap((edit) => {
      const { planId, field, to, isForced } = edit
      const from = 'base' in edit ? edit.base : readField(baseline.get(planId), field)
      const now = readField(newest().plans.get(planId), field)
      const isSame = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null)
      const isGone = field !== '' && newest().plans.get(planId) === undefined
      return !isForced && (isGone || (!isSame(from, now) && !isSame(now, to))) ? `${field} of plan ${planId}` : []
    })
  }

  function publish(command: Command, row: PublicationRow): void {
    const [id, , , , revision, due, approver, actor, planCount] = row
    const where = `publication ${id} of command ${command.id} (${command.kind})`
    const about = ['catalog', ...[...listPlanIds(id)].map((planId) => `plan ${planId}`)]
    claim('revision', revision ?? 0, command.id)
    if ((revision ?? 0) <= Math.max(...versions.map((version) => version.revision))) {
      journal.report('revisions grow', `${where} has revision ${revision}, after ${newest().revision}`, ...about)
    }
    if (command.publishedAtMs !== undefined) journal.report('nothing is published twice', where, ...about)
    if (command.cancelledAtMs !== undefined) journal.report('nothing cancelled is published', where, ...about)
    if (due !== null && d1.nowMs() < due * 1000)
      journal.report('nothing is published early', `${where} is due at ${due}`, ...about)
    if (approver?.toLowerCase() === actor.toLowerCase()) journal.report('another operator approves', where, ...about)
    const conflicts = listConflicts(command, row)
    if (conflicts.length > 0)
      journal.report('no update is lost', `${where} replaces what others changed: ${conflicts.join(', ')}`, ...about)
    const planIds = listPlanIds(id)
    if (planIds.size !== planCount)
      journal.report('a publication is whole', `${where} has ${planIds.size} of ${planCount} plans`, ...about)

    const plans = new Map(newest().plans)
    command.applied = []
    for (const { planId, field, to } of listEdits(command, planIds)) {
      const before = readField(plans.get(planId), field)
      const plan = writeField(plans.get(planId), field, to)
      if (plan) plans.set(planId, plan)
      else plans.delete(planId)
      command.applied.push({ planId, field, before, after: to })
    }
    command.publishedAtMs = clock.nowMs()
    versions.push({ fromMs: clock.nowMs(), revision: revision ?? 0, plans: compareCatalog(plans, where, about) })
  }

  /** @returns what the database has, so that a difference is reported once. */
  function compareCatalog(plans: Map<number, CatalogPlan>, where: string, about: string[]): Map<number, CatalogPlan> {
    const rows = d1.query<[number, string | null, string | null]>(`
      select plan_id, document, viewable_in from (
        select plan_id, document, viewable_in, max(revision) from plan_versions join publications on id = publication_id
        where revision is not null group by plan_id) where document is not null order by plan_id`)
    const stored = new Map(
      rows.map(([planId, document, viewableIn]) => [
        planId,
        { ...JSON.parse(document ?? ''), viewableIn: JSON.parse(viewableIn ?? '') } as CatalogPlan,
      ]),
    )
    const differences = [...new Set([...plans.keys(), ...stored.keys()])].flatMap((planId) => {
      const [wanted, is] = [plans.get(planId), stored.get(planId)]
      if (JSON.stringify(wanted) === JSON.stringify(is)) return []
      const fields = Object.keys({ ...wanted, ...is }).filter(
        (field) => JSON.stringify(readField(wanted, field)) !== JSON.stringify(readField(is, field)),
      )
      return `plan ${planId}: ${fields.map((field) => `${field} is ${JSON.stringify(readField(is, field))}, not ${JSON.stringify(readField(wanted, field))}`).join(', ')}`
    })
    if (differences.length > 0)
      journal.report('no update is lost', `after ${where}: ${differences.slice(0, 3).join('; ')}`, ...about)
    return stored
  }

  type ChangeRow = [
    id: number,
    kind: string,
    command: string,
    partner: string,
    country: string,
    suspended: number | null,
    closed: number | null,
    from: number | null,
    secrets: string | null,
    clientId: string,
  ]

  function followPartners(): void {
    const rows = d1.query<ChangeRow>(
      `select id, kind, command, partner, country, suspended_at, closed_at, tokens_valid_from, secrets, client_id from change_record
       where id > ? and partner is not null order by id`,
      lastChangeId,
    )
    for (const [id, kind, text, shortName, country, suspendedAt, closedAt, validFrom, secrets, clientId] of rows) {
      lastChangeId = id
      const command = findCommand(text)
      if (command === undefined) continue
      claim('change', id, command.id)
      command.commits++
      const account = accounts.get(shortName) ?? { shortName, clientId, states: [] }
      accounts.set(shortName, account)
      const before = account.states.at(-1)
      const state = { ...change(before, command), tokensValidFrom: validFrom ?? 0 }
      account.states.push(state)
      journal.note(`${shortName}: command ${command.id} by ${command.actor} made ${kind}`, shortName)
      const stored: { expiresAt: number | null }[] = JSON.parse(secrets ?? '[]')
      const is = {
        kind,
        country,
        isSuspended: suspendedAt !== null,
        isClosed: closedAt !== null,
        ends: stored.map(({ expiresAt }) => (expiresAt === null ? Infinity : expiresAt * 1000)),
        movesTokens: (validFrom ?? 0) > (before?.tokensValidFrom ?? 0),
      }
      const wanted = {
        kind: command.kind,
        country: state.country,
        isSuspended: state.isSuspended,
        isClosed: state.isClosed,
        ends: state.secrets.map(({ endsAtMs }) => endsAtMs),
        movesTokens: state.ended !== before?.ended,
      }
      if (JSON.stringify(is) !== JSON.stringify(wanted)) {
        journal.report(
          'no change of a partner is lost',
          `${shortName} is ${JSON.stringify(is)}, not ${JSON.stringify(wanted)}`,
          shortName,
        )
      }
    }
  }

  /** The state of a partner after a command. */
  function change(before: PartnerState | undefined, { id, kind, country, graceSeconds = 0 }: Command): PartnerState {
    const [nowMs, nowSeconds] = [clock.nowMs(), Math.floor(d1.nowMs() / 1000)]
    const made = { commandId: id, endsAtMs: Infinity }
    const known = before ?? {
      fromMs: nowMs,
      kind,
      country: '',
      isSuspended: false,
      isClosed: false,
      ended: undefined,
      tokensValidFrom: 0,
      secrets: [],
    }
    const state: PartnerState = { ...known, fromMs: nowMs, kind, country: country ?? known.country }
    const live = known.secrets.filter(({ endsAtMs }) => endsAtMs > nowSeconds * 1000)
    const endAll = (atSeconds: number) =>
      live
        .map((secret) => ({ ...secret, endsAtMs: Math.min(secret.endsAtMs, atSeconds * 1000) }))
        .filter(({ endsAtMs }) => endsAtMs > nowSeconds * 1000)
    if (kind === 'create') state.secrets = [made]
    if (kind === 'suspend') state.isSuspended = true
    if (kind === 'resume') state.isSuspended = false
    if (kind === 'close') Object.assign(state, { isSuspended: true, isClosed: true, secrets: [] })
    if (kind === 'rotate') state.secrets = [...endAll(nowSeconds + graceSeconds), made]
    if (kind === 'replace-newest') state.secrets = [...live.filter(({ endsAtMs }) => endsAtMs < Infinity), made]
    if (kind === 'lockdown') state.secrets = [made]
    if (kind === 'lockdown' || kind === 'end-tokens') state.ended = { atMs: nowMs, isLockdown: kind === 'lockdown' }
    return state
  }

  /** Time Travel. The IDs and revisions that were used since stay used. */
  function restore(toMs: number): void {
    const past = versions.findLast(({ fromMs }) => fromMs <= toMs) ?? newest()
    versions.push({ ...past, fromMs: clock.nowMs() })
    d1.restore(toMs, versions.length - 1)
    for (const { states: known } of accounts.values()) {
      const state = known.findLast(({ fromMs }) => fromMs <= toMs)
      const [first] = known
      if (state) known.push({ ...state, fromMs: clock.nowMs() })
      else if (first) known.push({ ...first, fromMs: clock.nowMs(), isSuspended: true, isClosed: true, secrets: [] })
    }
    for (const command of commands.values()) {
      if ((command.publishedAtMs ?? 0) > toMs) command.publishedAtMs = undefined
      if ((command.cancelledAtMs ?? 0) > toMs) command.cancelledAtMs = undefined
    }
    states.clear()
    for (const [id, state] of d1.query<[number, string]>('select id, state from publications')) states.set(id, state)
    lastChangeId = d1.query<[number]>('select coalesce(max(id), 0) from change_record')[0]?.[0] ?? 0
  }

  /** The ETag of a list in each version, and the newest version of each ETag. */
  function listEtags(country: string, filter: PlanFilter) {
    const key = `${country} ${JSON.stringify(filter)}`
    const known = etags.get(key) ?? { etags: [], bodies: new Map<string, number>() }
    etags.set(key, known)
    for (let index = known.etags.length; index < versions.length; index++) {
      const { plans } = versions[index] as Version
      const listed = [...plans.values()]
        .filter(
          (plan) =>
            plan.viewableIn.includes(country) &&
            Object.entries(filter).every(([name, value]) => getValue(plan, Reflect.get(planFilters, name)) === value),
        )
        .toSorted((a, b) => a.id - b.id)
        .map(({ viewableIn: _, ...plan }) => plan)
      const body = JSON.stringify({
        message: 'Plans fetched successfully',
        data: { total: listed.length, plans: listed },
      })
      known.etags.push(computeEtag(body))
    }
    return known.etags
  }

  d1.watch(onWrite)
  return {
    commands,
    accounts,
    versions,
    restore,
    listEtags,
    /** The moments between which a version was the catalog. */
    spanOf: (index: number) => [versions[index]?.fromMs ?? 0, versions[index + 1]?.fromMs ?? Infinity] as const,
    /** What has its time, is not published, and nobody has ended. */
    listOverdue: (atMs: number) =>
      d1.query<[id: number, text: string, due: number]>(
        `select id, command, due_at from publications where state = 'scheduled' and due_at * 1000 <= ?`,
        atMs,
      ),
  }
}

export function computeEtag(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest().subarray(0, 16).toString('base64url')}"`
}

const isOpen = (state: string) => ['staging', 'waiting', 'scheduled', 'conflicted'].includes(state)

function readField(plan: CatalogPlan | undefined, field: string): unknown {
  if (field === '') return plan ?? null
  const [, country] = /^viewableIn\.(..)$/.exec(field) ?? []
  return country === undefined ? plan?.[field as keyof CatalogPlan] : (plan?.viewableIn.includes(country) ?? false)
}

function writeField(plan: CatalogPlan | undefined, field: string, to: unknown): CatalogPlan | undefined {
  if (field === '') return (to ?? undefined) as CatalogPlan | undefined
  const [, country] = /^viewableIn\.(..)$/.exec(field) ?? []
  if (plan === undefined) return undefined
  if (country === undefined)
    return { ...plan, [field]: to, ...(field === 'nonInvestableNote' && { isInvestable: to === null }) }
  const others = plan.viewableIn.filter((code) => code !== country)
  return { ...plan, viewableIn: (to ? [...others, country] : others).toSorted() }
}
