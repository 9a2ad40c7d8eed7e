// The commands `ops partner …`: create and change partners, and replace or end their secrets and tokens.
import { abbreviate } from '../../../abbreviate.ts'
import { changePartner, replaceSecrets, type PartnerRequest } from '../../core/partners/account-changes.ts'
import {
  createPartner,
  describeMove,
  describeEmptyList,
  requirePartner,
  isRotationDue,
  listPartners,
  parsePartnerFields,
  storeContact,
  type Partner,
} from '../../core/partners/partner-accounts.ts'
import { formatLocalTime, parseDuration } from '../../shared/time-arguments.ts'
import { toUpperCaseCode } from '../../shared/country.ts'
import { freshness } from '../../shared/freshness-phrase.ts'
import { describeCommand, formatTarget } from '../../shared/target.ts'
import { UserError } from '../../shared/user-error.ts'
import { readInput } from '../../store/read-input.ts'
import { decodeLeniently } from '../../store/text-encoding.ts'
import {
  formatEndedTokensLetter,
  makePartnerOutput,
  makeNewSecretOutput,
  findWayBack,
  formatLockdownLetter,
  formatRotationLetter,
  formatWelcomeLetter,
  partnerToJson,
  formatSummaryRow,
} from './partner-output.ts'
import type { Output, Run } from '../frame/run.ts'
import { sinceFlag } from '../frame/shared-flags.ts'
import { verb, type ChangeRun } from '../frame/verb.ts'

const args = { shortName: {} } as const
const json = 'the partner as an object'
const changeVerb = { args, changes: 'at-once', json } as const
const credentialsJson = 'an object with clientId, clientSecret, shortName and country'
const maxGraceDays = 30

/** Parses `--grace`, and keeps its text for messages. @throws UserError unless it is a duration from 0 to 30 days. */
function parseGrace(text: string): { text: string; seconds: number } {
  const seconds = parseDuration(text)
  if (seconds !== undefined && seconds <= maxGraceDays * 86_400) return { text, seconds }
  throw new UserError(
    `--grace must be 0 or a time of at most ${maxGraceDays} days, such as 30m, 24h or 7d; it is ${abbreviate(text)}.`,
  )
}

export const partner = {
  create: verb({
    help: 'onboard a partner; prints its client ID, its client secret, only this once, and a text to send',
    example: 'partner create --short-name acme --name "Acme Wallet" --country KE',
    flags: {
      shortName: { value: '<name>', help: 'the name in addresses and commands: 2 to 32 of a-z, 0-9 and -' },
      name: { value: '<name>', help: 'the name for people' },
      country: {
        value: '<code>',
        help: 'the country whose plans the partner lists, such as KE (ISO 3166-1 alpha-2)',
        parse: toUpperCaseCode,
      },
      contact: {
        value: '<text>',
        help: 'whom to write to; the record does not keep it, and partner end deletes it',
      },
    },
    changes: 'at-once',
    json: credentialsJson,
    listHiddenTexts: ({ contact = '' }) => [contact],
    // A missing flag becomes '', so that createPartner names all mistakes at once.
    async run({ shortName = '', name = '', country = '', contact }, { store, attribution, ...run }) {
      const origin = run.target.remote ? await run.requireOrigin(run.target).catch(() => undefined) : undefined
      // Reads the warning before the secret is made: nothing may fail between the making and the printing of a secret.
      const warning = await describeEmptyList(store, { shortName, country })
      const credentials = await createPartner(store, { shortName, name, country, contact }, attribution)
      if (warning !== undefined) run.warn(warning)
      run.print(makeNewSecretOutput(credentials, formatWelcomeLetter(credentials, origin), run.target))
      if (contact) await storeContact(store, shortName, contact)
    },
  }),

  list: verb({
    help: 'list all partners',
    example: 'partner list --json',
    json: 'an array of the partners',
    async run(_, { store, target, clock }) {
      const partners = await listPartners(store)
      const nowMs = clock.nowMs()
      const createCommand = describeCommand(target, 'partner', 'create', '--help')
      return {
        data: partners.map((one) => ({ ...partnerToJson(one), isRotationDue: isRotationDue(one, nowMs) })),
        text: partners.map((one) => formatSummaryRow(one, nowMs)),
        note: partners.length === 0 ? `There is no partner yet. To create one: ${createCommand}` : undefined,
      }
    },
  }),

  show: verb({
    help: 'show a partner, by short name or client ID, and when its secrets were made, never a secret',
    example: 'partner show acme',
    args,
    json,
    run: async ({ shortName }, { store }) => makePartnerOutput(await requirePartner(store, shortName)),
  }),

  identify: verb({
    help: 'name the owner of each client secret, token and signing key in a text from standard input, and the command that ends it; describes at most ten of them, and never prints a secret',
    example: 'partner identify < FILE',
    store: 'itself',
    json: 'an array, with an object for each secret, token or key: its line, kind and state, and if known its partner or kid, and ifItLeaked, the command that ends it',
    noArgumentsError:
      'Never pass a secret as an argument: process lists and the history of your shell show it. The command reads the text from standard input.',
    async run(_, run) {
      const { identifyLeaks } = await import('./identify-leaks.ts')
      return identifyLeaks(await readPipedText(run), run)
    },
  }),

  rotate: verb({
    help: 'make a new client secret, printed only this once, and a text to send; the old secret works for a grace period',
    example: 'partner rotate acme --grace 24h',
    args,
    flags: {
      grace: {
        value: '<time>',
        help: 'how long the old secret still works, such as 30m, 24h or 7d; 0 ends it now',
        default: '24h',
        parse: parseGrace,
      },
      replaceNewest: {
        help: 'the newest secret was lost: end it now; the older secret still works until it expires',
        conflicts: ['grace'],
      },
    },
    changes: 'at-once',
    asks: true,
    json: credentialsJson,
    async run({ shortName, grace, replaceNewest }, run) {
      const { replacement, effect } = chooseReplacement(grace, replaceNewest)
      await run.confirm(`${shortName} gets a new secret. ${effect}`)
      const { before, credentials, earlierExpiresAt } = await replaceSecrets(run.store, shortName, replacement, run)
      if (before.suspendedAt !== null)
        run.warn(`${shortName} is suspended: its secrets do not work until you resume the partner.`)
      const letter = formatRotationLetter(credentials, { before, earlierExpiresAt, isLost: replaceNewest })
      run.print(makeNewSecretOutput(credentials, letter, run.target, earlierExpiresAt))
    },
  }),

  lockdown: verb({
    help: 'after a leak: end every secret and every token of a partner now, and print a new secret, only this once',
    example: 'partner lockdown acme --note "Secret on GitHub."',
    args,
    flags: { tokensOnly: { help: 'only a token leaked: end every token, and keep the secrets' } },
    changes: 'at-once',
    asks: true,
    json: `${credentialsJson}; with --tokens-only, ${json}`,
    async run({ shortName, tokensOnly }, run) {
      const effect = tokensOnly
        ? `All tokens of ${shortName} end now; its secrets still work.`
        : `${shortName} gets a new secret; all earlier ones, and all its tokens, end now.`
      await run.confirm(effect)
      if (tokensOnly) {
        const { output, after } = await changeAccount(run, shortName, { kind: 'end-tokens' })
        return { ...output, note: `${output.note}\n${formatEndedTokensLetter(after)}` }
      }
      const replacement = { kind: 'lockdown' } as const
      const { before, credentials, tokensValidFrom } = await replaceSecrets(run.store, shortName, replacement, run)
      if (before.suspendedAt !== null) run.warn(`${shortName} is still suspended: it gets no token.`)
      const letter = formatLockdownLetter(credentials, { before, tokensValidFrom })
      run.print(makeNewSecretOutput(credentials, letter, run.target))
      return undefined
    },
  }),

  suspend: makeAccessVerb('suspend', {
    help: 'refuse every request of a partner, also with tokens that it has, until partner resume',
    effect: 'be suspended: every request gets 401, until partner resume',
  }),

  resume: makeAccessVerb('resume', { help: 'end the suspension of a partner', effect: 'get tokens and lists again' }),

  set: verb({
    help: 'change the name for people, the country or the contact of a partner; contact=null deletes the contact',
    example: 'partner set acme country=UG "name=Acme Pay" contact=integrations@acme.example',
    ...changeVerb,
    args: { shortName: {}, assignments: { isList: true, parse: parsePartnerFields } },
    asks: true,
    listHiddenTexts: ({ assignments: { contact } }) => [contact ?? ''],
    async run({ shortName, assignments: fields }, run) {
      const { country } = fields
      const before = await requirePartner(run.store, shortName)
      const moveWarning = country === undefined ? undefined : await describeMove(run.store, before, country)
      if (moveWarning !== undefined) {
        run.warn(moveWarning)
        await run.confirm(`${shortName} will list the plans of ${country}.`)
      }
      const { output } = await changeAccount(run, shortName, { kind: 'set', seenId: before.id, ...fields })
      return output
    },
  }),

  end: makeAccessVerb('end', {
    help: 'end a partner for good: delete its secrets and its contact, and keep its record; its short name stays taken',
    effect: 'be ended for good, and its secrets deleted',
  }),

  usage: verb({
    help: 'count the requests of a partner to a deployed environment',
    example: 'partner usage acme --since 30d --remote --env production',
    args,
    flags: {
      // https://developers.cloudflare.com/analytics/analytics-engine/limits/
      since: { ...sinceFlag, help: `${sinceFlag.help}; Cloudflare keeps three months`, default: '30d' },
    },
    store: 'itself',
    json: 'an array: for each kind, status and error, the number of requests and the time of the latest; sorted by this time, the latest first',
    async run({ shortName, since }, { target, openUsage, withStore }) {
      const { readPartnerUsage } = await import('../../core/partners/partner-usage.ts')
      const query = await openUsage(target)
      return withStore(target, async (store) => {
        const usage = await readPartnerUsage(store, query, shortName, since)
        const note =
          usage.length === 0 ? `No request of ${shortName} was counted since ${formatLocalTime(since)}.` : undefined
        return { data: usage, note }
      })
    },
  }),
}

function chooseReplacement(grace: ReturnType<typeof parseGrace>, replaceNewest: boolean) {
  if (replaceNewest) {
    const effect = 'The newest secret stops working now. The older secret keeps its end time.'
    return { replacement: { kind: 'replace-newest' }, effect } as const
  }
  if (grace.seconds === 0) {
    return { replacement: { kind: 'replace-all' }, effect: 'Earlier secrets stop working now.' } as const
  }
  const effect = `The old secret works for another ${grace.text}.`
  return { replacement: { kind: 'rotate', graceSeconds: grace.seconds }, effect } as const
}

/**
 * The verb reads nothing before its question, so that an operator can block a partner within seconds, even while the database fails.
 * @param effect words that follow `acme will`.
 */
function makeAccessVerb(kind: 'suspend' | 'resume' | 'end', { help, effect }: { help: string; effect: string }) {
  return verb({
    ...changeVerb,
    help,
    example: `partner ${kind} acme`,
    asks: true,
    async run({ shortName }, run) {
      await run.confirm(`${shortName} will ${effect}.`)
      return (await changeAccount(run, shortName, { kind })).output
    },
  })
}

/** Words that follow the short name, and say why a change changed nothing. */
const whyUnchanged: Partial<Record<PartnerRequest['kind'], string>> = {
  suspend: 'was already suspended',
  resume: 'was not suspended',
  end: 'had already ended',
}

/** Changes a partner, and throws as `changePartner` does. @returns the partner after the change, and its fields with a note: nothing changed, or how to take the change back. */
async function changeAccount(
  run: ChangeRun,
  name: string,
  request: PartnerRequest,
): Promise<{ output: Output; after: Partner }> {
  const before = await changePartner(run.store, name, request, run)
  const after = await requirePartner(run.store, name)
  const wayBack = findWayBack(request.kind, before, after)
  const effect = [
    `The change takes effect everywhere within ${freshness}.`,
    ...(wayBack ? [`To take it back: ${describeCommand(run.target, 'partner', ...wayBack)}`] : []),
  ].join(' ')
  const noEffect = `${after.shortName} ${whyUnchanged[request.kind] ?? 'already has these values'}; nothing changed.`
  // Every change gives a partner a new `id`.
  const note = `${formatTarget(run.target)} ${after.id === before.id ? noEffect : effect}`
  return { output: { ...makePartnerOutput(after), note }, after }
}

/** Reads a text from standard input. @throws UserError when the text is empty or over 100 MB, or is typed on a terminal, which would show a secret. */
async function readPipedText({ io: { stdin }, target }: Run): Promise<string> {
  const text = stdin.isTTY ? '' : decodeLeniently(await readInput('-', stdin))
  if (text.trim() !== '') return text
  const identifyCommand = describeCommand(target, 'partner', 'identify')
  throw new UserError([
    'There is no secret on standard input.',
    `Pass it through a pipe, or in a file that only you can read: ${identifyCommand} < FILE`,
  ])
}
