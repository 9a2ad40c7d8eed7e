// The code of ops partner …
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { listPartnerEntries, readDatabaseSeconds } from '../core/change-record.ts'
import {
  changePartner,
  createPartner,
  describeClosed,
  findEmptyList,
  findOpenPartner,
  findPartner,
  getFate,
  listPartners,
  readPartnerStatus,
  replaceSecret,
  type Credentials,
  type NewCredentials,
  type PartnerChange,
  type PartnerRequest,
} from '../core/partner-accounts.ts'
import { parsePast } from '../core/time-arguments.ts'
import type { Attribution } from '../core/attribution.ts'
import type { Store } from '../store/store.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { UserError } from '../shared/user-error.ts'
import { readInput } from '../store/read-input.ts'
import { decodeLeniently } from '../store/text-encoding.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import { formatPairs } from '../terminal/table.ts'
import type { Handlers } from './verb.ts'
import { readLog } from './change-log.ts'
import type { partnerDeclarations } from './partner-declarations.ts'
import {
  formatCredentials,
  formatLockdownMessage,
  formatPartner,
  formatSecret,
  formatUsage,
  partnerToJson,
  secretToJson,
  summaryToJson,
  toPreviewRow,
  toSummaryRow,
} from './partner-output.ts'
import type { Output, Run } from './run.ts'

/** https://developers.cloudflare.com/analytics/analytics-engine/limits/ */
const usageRetentionSeconds = 92 * 86_400

export const partnerCommands: Handlers<typeof partnerDeclarations> = {
  async create({ shortName = '', name = '', country = '' }, { store, attribution, print, warn }) {
    // Read first: a secret that was made must be printed, even if the database fails afterwards.
    const warning = await findEmptyList(store, { shortName, country })
    print(formatCredentials(await createPartner(store, { shortName, name, country }, attribution)))
    if (warning !== undefined) warn(warning)
  },

  async list(_, { store, target, clock }) {
    const partners = await listPartners(store)
    const nowMs = clock.nowMs()
    const create = describeCommand(target, 'partner', 'create', '--help')
    return {
      data: partners.map((known) => summaryToJson(known, nowMs)),
      text: partners.map((known) => toSummaryRow(known, nowMs)),
      note: partners.length === 0 ? `There is no partner yet. To create one: ${create}` : undefined,
    }
  },

  async show({ shortName }, { store }) {
    const found = await findPartner(store, shortName)
    const value = { ...partnerToJson(found), secrets: found.secrets.map(secretToJson) }
    return { data: value, text: formatPartner(found) }
  },

  async identify(_, run) {
    const { findClientSecret, findSecretOwner } = await import('../core/secret-owner.ts')
    const { target } = run
    const clientSecret = findClientSecret(await readSecret(run))
    const { partner, secret } = await run.withStore(target, (store) => findSecretOwner(store, clientSecret, run.update))
    const { shortName, name, clientId } = partner
    const status = readPartnerStatus(partner)
    const command = describeCommand(target, 'partner', 'lockdown', shortName)
    return {
      data: { shortName, name, clientId, status, secret: secretToJson(secret), command },
      text: formatPairs([
        ['short name', shortName],
        ['name', name],
        ['client ID', clientId],
        ['status', status],
        ['secret', formatSecret(secret)],
        ['if it leaked', command],
      ]),
    }
  },

  async rotate({ shortName, grace, replaceNewest, json }, { store, attribution, ...run }) {
    const replacement = replaceNewest
      ? ({ kind: 'replace-newest' } as const)
      : ({ kind: 'rotate', graceSeconds: grace.seconds } as const)
    const known = await findOpenPartner(store, shortName, getFate(replacement), run.warn)
    const isImmediate = grace.seconds === 0
    const graceEnd = isImmediate ? 'all earlier ones stop working now' : `the old one works for another ${grace.text}`
    const effect = replaceNewest ? 'the newest one stops working now' : graceEnd
    await run.confirm(`${shortName} gets a new secret; ${effect}.`)
    const show = (made: Credentials) => run.print(formatCredentials(made))
    const { olderExpiresAt } = await replaceSecret(store, known, replacement, { attribution, warn: run.warn, show })
    if (json) return
    if (replaceNewest) {
      run.warn(`The lost secret is dead. The older one works until ${formatIsoTime(olderExpiresAt ?? 0)}.`)
    } else if (isImmediate) {
      const end = describeCommand(run.target, 'partner', 'end-tokens', shortName)
      run.warn(`No earlier secret works any more. Tokens work until they expire. To end them: ${end}`)
    } else run.warn(`The old secret works for another ${grace.text}.`)
  },

  async lockdown({ shortName, json }, { store, attribution, ...run }) {
    const known = await findOpenPartner(store, shortName, 'end', run.warn)
    await run.confirm(`${shortName} gets a new secret; all earlier ones, and all its tokens, end now.`)
    const isSuspended = known.suspendedAt !== null
    const show = (made: NewCredentials) => {
      const message = formatLockdownMessage(made, isSuspended)
      const output = formatCredentials(made)
      const tokensValidFrom = formatOptionalTime(made.tokensValidFrom)
      run.print({ ...output, data: { ...output.data, tokensValidFrom, message } })
      if (json) return
      if (isSuspended) run.warn(`${shortName} is still suspended: it gets no token.`)
      const advice = `Send this to ${shortName}, and the secret separately, over a channel that you trust:`
      run.warn(advice, '', message.trimEnd())
    }
    await replaceSecret(store, known, { kind: 'lockdown' }, { attribution, warn: run.warn, show })
  },

  endTokens: ({ shortName }, run) => change(run, { kind: 'end-tokens', partner: shortName }, describeTokens),
  suspend: ({ shortName }, run) => change(run, { kind: 'suspend', partner: shortName }, describeStatus),
  resume: ({ shortName }, run) => change(run, { kind: 'resume', partner: shortName }, describeStatus),
  rename: ({ shortName, name }, run) => change(run, { kind: 'set', partner: shortName, name }, describeName),

  async setCountry({ shortName, country }, run) {
    const output = await change(run, { kind: 'set', partner: shortName, country }, describeCountry)
    const warning = await findEmptyList(run.store, { shortName, country })
    if (warning !== undefined) run.warn(warning)
    return output
  },

  async setContact({ shortName, contact, remove }, run) {
    if ((contact === undefined) !== remove) throw new UserError('Name the contact, or add --remove to delete it.')
    return change(run, { kind: 'set', partner: shortName, contact: contact ?? null }, describeContact)
  },

  async close({ shortName }, run) {
    await run.confirm(`${shortName} will be closed for good, and its secrets deleted.`, { isLocal: true })
    return change(run, { kind: 'close', partner: shortName }, (changed) => describeClosing(run.target, changed))
  },

  log: (input, { store }) => readLog('partner', listPartnerEntries, input, store),

  async preview({ shortName, at }, { store }) {
    const { previewPlans } = await import('../core/partner-preview.ts')
    const { plans, emptyBecause } = await previewPlans(store, shortName, at)
    return { data: plans, text: plans.map(toPreviewRow), note: emptyBecause }
  },

  async usage({ shortName, since }, { target, openUsage, withStore, warn }) {
    const { readPartnerUsage } = await import('../core/partner-usage.ts')
    const query = await openUsage(target)
    return withStore(target, async (store) => {
      const now = await readDatabaseSeconds(store)
      const sinceSeconds = parsePast(since, now)
      if (now - sinceSeconds > usageRetentionSeconds) {
        warn('Cloudflare keeps these data for three months: earlier requests are not counted.')
      }
      const usage = await readPartnerUsage(store, query, shortName, sinceSeconds)
      return { data: usage, text: formatUsage(usage, sinceSeconds) }
    })
  },
}

async function change(
  { store, attribution, warn }: Run & { store: Store; attribution: Attribution },
  request: PartnerRequest,
  describe: (changed: PartnerChange) => string,
): Promise<Output> {
  const changed = await changePartner(store, request, { attribution, warn })
  return { data: partnerToJson(changed.partner), text: `${describe(changed)}\n` }
}

function describeStatus({ partner, isChanged }: PartnerChange): string {
  const status = readPartnerStatus(partner)
  const verb = isChanged ? 'is now' : 'already is'
  const when = isChanged ? ` Every data center knows it within ${freshness}.` : ''
  return `${partner.shortName} ${verb} ${status}, with the plans of ${partner.country}.${when}`
}

function describeClosing(target: Target, { partner: { shortName, closedAt }, isChanged }: PartnerChange): string {
  if (isChanged || closedAt === null) return `${shortName} is now closed, for good.`
  return describeClosed(target, shortName, closedAt)
}

function describeCountry({ partner, isChanged }: PartnerChange): string {
  const when = isChanged ? `, everywhere within ${freshness}` : ''
  const sentence = `${partner.shortName} ${isChanged ? 'now' : 'already'} lists the plans of ${partner.country}${when}.`
  return partner.suspendedAt === null ? sentence : `${sentence} It is still suspended.`
}

function describeName({ partner, isChanged }: PartnerChange): string {
  return `${partner.shortName} ${isChanged ? 'is now' : 'already is'} named ${partner.name}.`
}

function describeContact({ partner, isChanged }: PartnerChange): string {
  const has = isChanged ? 'now has' : 'already has'
  return `${partner.shortName} ${has} ${partner.contact === null ? 'no contact' : `the contact ${partner.contact}`}.`
}

function describeTokens({ partner }: PartnerChange): string {
  const later = partner.suspendedAt === null ? 'Later ones work at once.' : 'It is still suspended: it gets no token.'
  return `Tokens of ${partner.shortName} from before ${formatIsoTime(partner.tokensValidFrom ?? 0)} are refused everywhere within ${freshness}. ${later}`
}

/** @throws UserError when nothing is piped in: a terminal would show the secret. */
async function readSecret({ io: { stdin }, target }: Run): Promise<string> {
  const text = stdin.isTTY ? '' : decodeLeniently(await readInput('-', stdin))
  if (text.trim() !== '') return text
  const identify = describeCommand(target, 'partner', 'identify')
  throw new UserError(
    `There is no secret on standard input. Pass it in a file that only you can read, or through a pipe: ${identify} < FILE`,
  )
}
