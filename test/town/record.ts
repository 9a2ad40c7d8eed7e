// What is true in the town: the catalog and the partners, as the operators' commands must have made them. It follows each write of
// the database, applies what the command was meant to do, and compares.
import { createHash } from 'node:crypto'
import { readFilterValue, planFilters, type FilterName, type PlanFilter } from '../../src/catalog/plan-filters.ts'
import type { CatalogPlan } from '../../src/catalog/plan-schema.ts'
import type { D1World } from './d1-world.ts'
import type { Town } from './journal.ts'

/** A change of a value. `viewableIn.KE` is a boolean; an empty field is the whole plan, null for none. */
export interface Edit {
  planId: number
  field: string
  to: unknown
  /** Whether it may replace later changes by others. */
  isForced?: boolean
}

/** What an operator means to do. */
export interface Command {
  id: number
  actor: string
  kind: string
  /** The partner that it changes, if it changes one, with the new country or the grace period. */
  shortName?: string
  country?: string
  graceSeconds?: number
  edits?: readonly Edit[]
  /** The command whose publication it takes back. */
  undoes?: Command | undefined
  /** How many changes in the record are from it. */
  commits: number
  /** When its publication was published, and when it was cancelled. */
  publishedAtMs?: number
  cancelledAtMs?: number
  /** The edits that its publication made. */
  made?: (Edit & { from: unknown })[]
}

type Plans = ReadonlyMap<number, CatalogPlan>

/** A partner from a moment on. */
export interface PartnerState {
  fromMs: number
  kind: string
  country: string
  isSuspended: boolean
  isEnded: boolean
  /** When its tokens were last ended, and whether its secrets ended with them. */
  ended: { atMs: number; isLockdown: boolean } | undefined
  /** Its live secrets, each with the command that made it. */
  secrets: readonly { commandId: number; endsAtMs: number }[]
}

export interface Account {
  shortName: string
  clientId: string
  states: PartnerState[]
}

export type TownRecord = ReturnType<typeof createRecord>

/** The text of a command in the record has its number. */
export const formatCommand = ({ id, kind }: Command) => `town ${id} ${kind}`
export const parseCommand = (text: string) => Number(/^town (\d+)/.exec(text)?.[1])

export function createRecord({ clock, d1, journal }: Town & { d1: D1World }) {
  const commands = new Map<number, Command>()
  const accounts = new Map<string, Account>()
  const nothing = { fromMs: clock.nowMs(), revision: 0, plans: new Map<number, CatalogPlan>() }
  const versions: { fromMs: number; revision: number; plans: Plans }[] = [nothing]
  /** The last known state of each publication. */
  const publications = new Map<number, string>()
  /** The revision from which each publication was made. */
  const bases = new Map<number, number>()
  /** The command that used each ID of a change, and each revision. */
  const owners = new Map<string, number>()
  const etagsByList = new Map<string, string[]>()
  let lastChangeId = 0

  const newestPlans = (): Plans => (versions.at(-1) ?? nothing).plans

  /** Notes which command used an ID or a revision. None may be used by two commands, also after a restore. */
  function claim(what: string, owner: number): void {
    const facts = `${what} is of commands ${owners.get(what)} and ${owner}`
    if ((owners.get(what) ?? owner) !== owner) journal.report('no ID and no revision is used twice', facts, 'catalog')
    owners.set(what, owner)
  }

  /** Reads which publications changed their state, applies their edits to what is true, and checks the rules of publications. */
  function followPublications(): void {
    type Row = [id: number, state: string, text: string, base: number, revision: number, due: number, count: number]
    const rows = d1.query<Row>(`
      select id, state, command, base_revision, coalesce(revision, 0), coalesce(due_at, 0), plan_count
      from publications order by revision is null, id`)
    for (const [id, state, text, newestBase, revision, due, count] of rows) {
      // Publishing a publication that was merged changes its base.
      const base = bases.get(id) ?? newestBase
      if (state !== 'staging') bases.set(id, base)
      const before = publications.get(id)
      const command = commands.get(parseCommand(text))
      if (before === state || command === undefined) continue
      publications.set(id, state)
      if (state === 'staging') continue
      const what = `publication ${id} of command ${command.id} (${command.kind})`
      journal.note(`${what} is ${state}`, 'catalog')
      const report = (rule: string, facts = '') => journal.report(rule, `${what} ${facts}`, 'catalog')
      const edits = listEdits(command, id, base)
      const conflicts = edits.filter(isConflict).map(({ planId, field }) => `${field} of plan ${planId}`)
      if (state === 'conflicted' && conflicts.length === 0) report('no needless conflict')
      if (state === 'cancelled') command.cancelledAtMs = clock.nowMs()
      if (['waiting', 'scheduled', 'published'].includes(state)) command.commits++
      if (state !== 'published') continue
      claim(`revision ${revision}`, command.id)
      if (versions.some((version) => version.revision >= revision)) report('revisions grow', `has revision ${revision}`)
      if (command.publishedAtMs !== undefined) report('nothing is published twice')
      if (command.cancelledAtMs !== undefined) report('nothing cancelled is published')
      if (clock.nowMs() < due * 1000) report('nothing is published early')
      if (conflicts.length > 0) report('no update is lost', `replaces what others changed: ${conflicts.join(', ')}`)
      if (listPlanIds(id).length !== count) report('a publication is whole')
      Object.assign(command, { made: edits, publishedAtMs: clock.nowMs() })
      versions.push({ fromMs: clock.nowMs(), revision, plans: compareCatalog(applyEdits(edits), report) })
    }
  }

  const listPlanIds = (publicationId: number) =>
    d1.query<[number]>(`select plan_id from plan_versions natural join ${ofBase} where id = ?`, publicationId).flat()

  /** Returns the edits that a publication must make, each with the value that it expects before. */
  function listEdits({ edits = [], undoes }: Command, publicationId: number, base: number) {
    const planIds = new Set(listPlanIds(publicationId))
    const plans = versions.findLast(({ revision }) => revision === base)?.plans
    const reversed = undoes?.made?.map((edit) => ({ ...edit, to: edit.from, from: edit.to }))
    const wanted = edits.map((edit) => ({ ...edit, from: readField(plans?.get(edit.planId), edit.field) }))
    return (reversed ?? wanted).filter(({ planId }) => planIds.has(planId))
  }

  function isConflict({ planId, field, from, to, isForced }: Edit & { from: unknown }): boolean {
    const plan = newestPlans().get(planId)
    const now = readField(plan, field)
    const isGone = plan === undefined && field !== ''
    return !isForced && (isGone || (!isSame(now, from) && !isSame(now, to)))
  }

  function applyEdits(edits: readonly Edit[]): Plans {
    const plans = new Map(newestPlans())
    for (const { planId, field, to } of edits) {
      const plan = writeField(plans.get(planId), field, to)
      if (plan) plans.set(planId, plan)
      else plans.delete(planId)
    }
    return plans
  }

  /** Compares the catalog of the database with what it must be. @returns the catalog of the database. */
  function compareCatalog(wanted: Plans, report: (rule: string, facts: string) => void): Plans {
    const rows = d1.query<[number, string, string]>(`
      select plan_id, document, viewable_in from (
        select plan_id, document, viewable_in, max(revision) from plan_versions natural join ${ofBase}
        where revision is not null group by plan_id)
      where document is not null order by plan_id`)
    const stored = new Map<number, CatalogPlan>()
    for (const [id, document, viewableIn] of rows)
      stored.set(id, JSON.parse(`${document.slice(0, -1)},"viewableIn":${viewableIn}}`))
    for (const id of new Set([...wanted.keys(), ...stored.keys()])) {
      const [is, should] = [stored.get(id), wanted.get(id)]
      const facts = Object.keys({ ...is, ...should }).flatMap((field) => {
        const [found, expected] = [readField(is, field), readField(should, field)]
        return isSame(found, expected) ? [] : `${field} is ${String(found)}, not ${String(expected)}`
      })
      if (!isSame(is, should)) report('no update is lost', `left plan ${id} so that ${facts.join(', ').slice(0, 400)}`)
    }
    return stored
  }

  /** Reads new changes of partners, applies their commands to what is true, and compares the result with the database. */
  function followPartners(): void {
    type Row = [id: number, text: string, shortName: string, clientId: string, movesTokens: number, json: string]
    const rows = d1.query<Row>(
      `select id, command, partner, client_id, coalesce(tokens_valid_from, 0) > coalesce((
          select tokens_valid_from from change_record as older where older.partner = newer.partner and older.id < newer.id
          order by id desc limit 1), 0),
        json_array(kind, country, iif(suspended_at, 1, 0), iif(ended_at, 1, 0), (
          select json_group_array(coalesce(cast(value ->> 'expiresAt' as integer) * 1000, 'never')) from json_each(secrets)))
       from change_record as newer where id > ? and partner is not null order by id`,
      lastChangeId,
    )
    for (const [id, text, shortName, clientId, movesTokens, is] of rows) {
      lastChangeId = id
      const command = commands.get(parseCommand(text))
      if (command === undefined) continue
      claim(`change ${id}`, command.id)
      command.commits++
      journal.note(`command ${command.id} made ${command.kind} of ${shortName}`, shortName)
      const account = accounts.get(shortName) ?? { shortName, clientId, states: [] }
      const before = account.states.at(-1)
      const state = change(before, command)
      account.states.push(state)
      accounts.set(shortName, account)
      const ends = state.secrets.map(({ endsAtMs }) => (endsAtMs === Infinity ? 'never' : endsAtMs))
      const { country, isSuspended, isEnded } = state
      const should = JSON.stringify([command.kind, country, Number(isSuspended), Number(isEnded), ends])
      const isRight = is === should && (movesTokens === 1) === (state.ended !== before?.ended)
      if (!isRight) journal.report('no change of a partner is lost', `${shortName} is ${is}, not ${should}`, shortName)
    }
  }

  /** Returns what a partner must be after a command. */
  function change(before: PartnerState | undefined, { id, kind, country, graceSeconds = 0 }: Command): PartnerState {
    const fromMs = clock.nowMs()
    const nowMs = Math.floor(fromMs / 1000) * 1000
    const open = { country: '', isSuspended: false, isEnded: false, ended: undefined, secrets: [] }
    const state = { ...open, ...before, fromMs, kind, ...(country !== undefined && { country }) }
    const made = { commandId: id, endsAtMs: Infinity }
    const kept = (endsAtMs: number) =>
      state.secrets
        .map((secret) => ({ ...secret, endsAtMs: Math.min(secret.endsAtMs, endsAtMs) }))
        .filter((secret) => secret.endsAtMs > nowMs)
    const changes: Record<string, Partial<PartnerState>> = {
      create: { secrets: [made] },
      suspend: { isSuspended: true },
      resume: { isSuspended: false },
      end: { isSuspended: true, isEnded: true, secrets: [] },
      rotate: { secrets: [...kept(nowMs + graceSeconds * 1000), made] },
      'replace-newest': { secrets: [...kept(Infinity).filter(({ endsAtMs }) => endsAtMs < Infinity), made] },
      'replace-all': { secrets: [made] },
      lockdown: { secrets: [made], ended: { atMs: fromMs, isLockdown: true } },
      'end-tokens': { ended: { atMs: fromMs, isLockdown: false } },
    }
    return { ...state, ...changes[kind] }
  }

  /** Rewinds the database by Time Travel, and what is true with it. IDs and revisions that were used since stay used. */
  function restore(toMs: number): void {
    const fromMs = clock.nowMs()
    const isPast = (known: { fromMs: number }) => known.fromMs <= toMs
    versions.push({ ...nothing, ...versions.findLast(isPast), fromMs })
    d1.restore(toMs, versions.length - 1)
    for (const { states } of accounts.values()) {
      const [first] = states
      const gone = first && { ...first, isSuspended: true, isEnded: true, secrets: [] }
      states.push({ ...((states.findLast(isPast) ?? gone) as PartnerState), fromMs })
    }
    for (const command of commands.values()) {
      if ((command.publishedAtMs ?? 0) > toMs) delete command.publishedAtMs
      if ((command.cancelledAtMs ?? 0) > toMs) delete command.cancelledAtMs
    }
    publications.clear()
    bases.clear()
    const rows = d1.query<[number, string, number]>('select id, state, base_revision from publications')
    for (const [id, state, base] of rows) {
      publications.set(id, state)
      if (state !== 'staging') bases.set(id, base)
    }
    lastChangeId = d1.query<[number]>('select coalesce(max(id), 0) from change_record').flat()[0] ?? 0
  }

  /** Returns the ETag of a list in each version of the catalog. */
  function listEtags(country: string, filter: PlanFilter): readonly string[] {
    const key = JSON.stringify([country, filter])
    const etags = etagsByList.get(key) ?? []
    etagsByList.set(key, etags)
    const wanted = Object.entries(filter)
    const isListed = (plan: CatalogPlan) =>
      plan.viewableIn.includes(country) &&
      wanted.every(([name, value]) => readFilterValue(plan, planFilters[name as FilterName]) === value)
    for (const { plans } of versions.slice(etags.length)) {
      const listed = [...plans.values()].filter(isListed).toSorted((a, b) => a.id - b.id)
      const data = { total: listed.length, plans: listed.map((plan) => ({ ...plan, viewableIn: undefined })) }
      etags.push(computeEtag(JSON.stringify({ message: 'Plans fetched successfully', data })))
    }
    return etags
  }

  d1.watch(() => {
    followPartners()
    followPublications()
    return versions.length - 1
  })
  /** Returns the commands of publications that were due before a time, and are not published. */
  function listOverdue(beforeMs: number): string[] {
    const select = `select command from publications where state = 'scheduled' and due_at < ?`
    return d1.query<[string]>(select, beforeMs / 1000).flat()
  }
  return { commands, accounts, versions, newestPlans, restore, listEtags, listOverdue }
}

export function computeEtag(body: string | Uint8Array): string {
  return `"${createHash('sha256').update(body).digest().subarray(0, 16).toString('base64url')}"`
}

/** Selects the plans that belong to a publication: those with the base of its row. */
const ofBase = '(select id, id as publication_id, base_revision, revision from publications)'

const isSame = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

const parseCountry = (field: string) => /^viewableIn\.(..)$/.exec(field)?.[1]

function readField(plan: CatalogPlan | undefined, field: string): unknown {
  const country = parseCountry(field)
  if (country !== undefined) return plan?.viewableIn.includes(country) ?? false
  return field === '' ? plan : plan?.[field as keyof CatalogPlan]
}

function writeField(plan: CatalogPlan | undefined, field: string, to: unknown): CatalogPlan | undefined {
  if (field === '') return (to ?? undefined) as CatalogPlan | undefined
  if (plan === undefined) return undefined
  const country = parseCountry(field)
  if (field === 'nonInvestableNote')
    return { ...plan, nonInvestableNote: to as string | null, isInvestable: to === null }
  if (country === undefined) return { ...plan, [field]: to }
  const others = plan.viewableIn.filter((code) => code !== country)
  return { ...plan, viewableIn: to === true ? [...others, country].toSorted() : others }
}
