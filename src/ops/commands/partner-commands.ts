// partner create, list, show, identify, rotate, lockdown, end-tokens, suspend, resume, set-country, rename, set-contact, close, log
import { Option, type Command } from 'commander'
import { abbreviate } from '../../abbreviate.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import { listPartnerEntries } from '../core/change-record.ts'
import {
  changePartner,
  checkOpen,
  createPartner,
  describeClosed,
  findEmptyList,
  findPartner,
  findPartnerToChange,
  listLiveSecrets,
  listPartners,
  lockDownPartner,
  readPartnerStatus,
  replaceNewestSecret,
  rotateSecret,
  type Credentials,
  type LiveSecret,
  type LockedDown,
  type NewPartner,
  type Partner,
  type PartnerChange,
  type PartnerRequest,
  type PartnerSummary,
  isRotationDue,
} from '../core/partner-accounts.ts'
import { findClientSecret, findSecretOwner } from '../core/secret-owner.ts'
import { parseDuration } from '../core/time-arguments.ts'
import { UserError } from '../shared/user-error.ts'
import { readInput } from '../store/read-input.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import { decodeLeniently } from '../store/text-encoding.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Io } from '../terminal/io.ts'
import { formatAge } from '../terminal/age.ts'
import { printResult } from '../terminal/print-result.ts'
import { withProgress } from '../terminal/progress.ts'
import { formatPairs, formatTable } from '../terminal/table.ts'
import { addChangeRecordCommand } from './change-record-command.ts'
import { addAttributionOptions, addCommand } from './add-command.ts'
import { readAttribution, type ChangeOptions, type CommandContext, type OutputOptions } from './command-context.ts'

export function addPartnerCommands(partner: Command, context: CommandContext): void {
  const { io, clock, withStore } = context
  const warn = (warning: string) => void io.stderr.write(`${warning}\n`)
  const add = addCommand.bind(undefined, partner)
  const addChange = (usage: string, description: string, example: string) =>
    addAttributionOptions(add(usage, description, example))

  addChange(
    'create',
    'onboard a partner; prints its client ID and, only this once, its client secret',
    'create --short-name acme --name "Acme Wallet" --country KE',
  )
    .option('--short-name <name>', 'its name in paths: 2 to 32 of a-z, 0-9 and -')
    .option('--name <name>', 'its name for people')
    .option('--country <code>', 'the country whose plans it lists, ISO 3166-1 alpha-2')
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .action(async (options: Partial<NewPartner> & ChangeOptions) => {
      const { shortName = '', name = '', country = '' } = options
      const attribution = await readAttribution(context, options)
      const { credentials, warning } = await withStore(options, async (store) => ({
        // Read first: a secret that was made must be printed, even if the database fails afterwards.
        warning: await findEmptyList(store, { shortName, country }),
        credentials: await createPartner(store, { shortName, name, country }, attribution),
      }))
      printCredentials(io, credentials, options)
      if (warning !== undefined) warn(warning)
    })

  add('list', 'list all partners', 'list --json')
    .option('--json', 'print an array')
    .action(async (options: OutputOptions) => {
      const partners = await withProgress(io, 'Reading the partners', () => withStore(options, listPartners))
      const nowMs = clock.nowMs()
      const create = describeCommand(options, 'partner', 'create', '--help')
      const note = partners.length === 0 ? `There is no partner yet. To create one: ${create}` : undefined
      const summaries = partners.map((known) => summaryToJson(known, nowMs))
      printResult(io, options, summaries, formatPartners(partners, nowMs), note)
    })

  add('show <short-name>', 'show a partner and when its secrets were made, never a secret', 'show acme')
    .option('--json', 'print an object')
    .action(async (shortName: string, options: OutputOptions) => {
      const { found, secrets } = await withStore(options, async (store) => {
        const known = await findPartner(store, shortName)
        return { found: known, secrets: await listLiveSecrets(store, known) }
      })
      const value = { ...toJson(found), secrets: secrets.map(secretToJson) }
      printResult(io, options, value, formatPartner(found, secrets))
    })

  add(
    'identify',
    'say whose live client secret a text from standard input is, and which command ends it; never prints the secret',
    'identify < FILE',
  )
    .option('--json', 'print an object')
    // Otherwise the error quotes them.
    .allowExcessArguments()
    .allowUnknownOption()
    .action(async (options: OutputOptions, { args }: Command) => {
      if (args.length > 0) {
        throw new UserError(
          'Never pass a secret as an argument: process lists and the history of your shell show it. It is read from standard input.',
        )
      }
      const clientSecret = findClientSecret(await readText(io, options))
      const { partner: owner, secret } = await withProgress(io, 'Reading the live secrets', (update) =>
        withStore(options, (store) => findSecretOwner(store, clientSecret, update)),
      )
      const { shortName, name, clientId } = owner
      const status = readPartnerStatus(owner)
      const command = describeCommand(options, 'partner', 'lockdown', shortName)
      const pairs = formatPairs([
        ['short name', shortName],
        ['name', name],
        ['client ID', clientId],
        ['status', status],
        ['secret', formatSecret(secret)],
        ['if it leaked', command],
      ])
      printResult(io, options, { shortName, name, clientId, status, secret: secretToJson(secret), command }, pairs)
    })

  addChange(
    'rotate <short-name>',
    'make a new client secret, printed only this once; the old one works for a grace period',
    'rotate acme --grace 24h',
  )
    .option('--grace <time>', 'how long the old secret still works, such as 30m, 24h or 7d; 0 ends it now', '24h')
    .addOption(
      new Option(
        '--replace-newest',
        'the newest secret was lost: end it now, and let the older one work as long as it would have',
      ).conflicts('grace'),
    )
    .option('--json', 'print an object with clientId, clientSecret, shortName and country')
    .option('--yes', 'skip the question that --remote asks')
    .action(async (shortName: string, options: { grace: string; replaceNewest?: boolean } & ChangeOptions) => {
      const { grace, replaceNewest, json } = options
      const graceSeconds = parseGrace(grace)
      const show = (credentials: Credentials) => printCredentials(io, credentials, options)
      const operator = { attribution: await readAttribution(context, options), warn, show }
      const effect = await withStore(options, async (store) => {
        const known = await findPartnerToChange(store, shortName, warn)
        checkOpen(store, known)
        const ask = (outcome: string) => confirm(io, options, `${shortName} gets a new secret; ${outcome}.`)
        if (replaceNewest) {
          await ask('the newest one stops working now')
          const { olderExpiresAt } = await replaceNewestSecret(store, known, operator)
          return `The lost secret is dead. The older one works until ${formatIsoTime(olderExpiresAt)}.`
        }
        const isImmediate = graceSeconds === 0
        await ask(isImmediate ? 'all earlier ones stop working now' : `the old one works for another ${grace}`)
        await rotateSecret(store, known, graceSeconds, operator)
        return isImmediate ? 'No earlier secret works any more.' : `The old secret works for another ${grace}.`
      })
      if (!json) io.stderr.write(`${effect}\n`)
    })

  addChange(
    'lockdown <short-name>',
    'for a leaked secret: end every secret and every token now, and make a new secret, printed only this once',
    'lockdown acme --note "Secret on GitHub."',
  )
    .option(
      '--json',
      'print an object with clientId, clientSecret, shortName, country, tokensValidFrom and the message to the partner',
    )
    .option('--yes', 'skip the question that --remote asks')
    .action(async (shortName: string, options: ChangeOptions) => {
      const attribution = await readAttribution(context, options)
      await withStore(options, async (store) => {
        const known = await findPartnerToChange(store, shortName, warn)
        checkOpen(store, known)
        await confirm(io, options, `${shortName} gets a new secret; all earlier ones, and all its tokens, end now.`)
        const isSuspended = known.suspendedAt !== null
        const show = (made: LockedDown) => printLockdown(io, made, isSuspended, options)
        await lockDownPartner(store, known, { attribution, warn, show })
      })
    })

  const addPartnerChange = (usage: string, description: string, example: string) =>
    addChange(usage, description, example).option('--json', 'print the partner as an object')

  addPartnerChange(
    'end-tokens <short-name>',
    'end all tokens that a partner has got so far, within two minutes; its secrets still work, and get new tokens',
    'end-tokens acme --note "A token was in a log."',
  ).action((shortName: string, options: ChangeOptions) =>
    change(options, { kind: 'end-tokens', partner: shortName }, describeTokens),
  )

  addPartnerChange(
    'suspend <short-name>',
    'block a partner, its live tokens included; resume unblocks it',
    'suspend acme',
  ).action((shortName: string, options: ChangeOptions) =>
    change(options, { kind: 'suspend', partner: shortName }, describeStatus),
  )

  addPartnerChange('resume <short-name>', 'end a suspension', 'resume acme').action(
    (shortName: string, options: ChangeOptions) =>
      change(options, { kind: 'resume', partner: shortName }, describeStatus),
  )

  addPartnerChange(
    'set-country <short-name> <country>',
    'let a partner list the plans of another country',
    'set-country acme UG',
  ).action((shortName: string, country: string, options: ChangeOptions) =>
    change(options, { kind: 'set-country', partner: shortName, country }, describeCountry),
  )

  addPartnerChange('rename <short-name> <name>', 'change the name for people', 'rename acme "Acme Pay"').action(
    (shortName: string, name: string, options: ChangeOptions) =>
      change(options, { kind: 'rename', partner: shortName, name }, describeName),
  )

  addPartnerChange(
    'set-contact <short-name> [contact]',
    'note how to reach a partner; the contact is in no record, and is deleted when the partner is closed',
    'set-contact acme integrations@acme.example',
  )
    .option('--remove', 'delete the contact')
    .action(async (shortName: string, contact: string | undefined, options: { remove?: boolean } & ChangeOptions) => {
      if ((contact === undefined) !== (options.remove ?? false)) {
        throw new UserError('Name the contact, or add --remove to delete it.')
      }
      await change(options, { kind: 'set-contact', partner: shortName, contact: contact ?? null }, describeContact)
    })

  addPartnerChange(
    'close <short-name>',
    'close a partner for good: deletes its secrets and its contact, and keeps its short name and its record',
    'close acme --note "Contract ended."',
  )
    .option('--yes', 'skip the question that --remote asks')
    .action((shortName: string, options: ChangeOptions) =>
      change(options, { kind: 'close', partner: shortName }, (changed) => describeClosing(options, changed)),
    )

  addChangeRecordCommand(context, add('log [short-name]', 'show who changed partners, when and why', 'log acme'), {
    subject: 'PARTNER',
    list: listPartnerEntries,
  })

  async function change(
    options: ChangeOptions,
    request: PartnerRequest,
    describe: (changed: PartnerChange) => string,
  ): Promise<void> {
    // The record must not hold a contact.
    const unrecorded = request.kind === 'set-contact' ? (request.contact ?? undefined) : undefined
    const attribution = await readAttribution(context, options, unrecorded)
    const changed = await withStore(options, async (store) => {
      if (request.kind === 'close') {
        await confirm(io, options, `${request.partner} will be closed for good, and its secrets deleted.`)
      }
      const made = await changePartner(store, request, { attribution, warn })
      const warning = request.kind === 'set-country' ? await findEmptyList(store, made.partner) : undefined
      if (warning !== undefined) warn(warning)
      return made
    })
    printResult(io, options, toJson(changed.partner), `${describe(changed)}\n`)
  }
}

function describeStatus({ partner, isChanged }: PartnerChange): string {
  const verb = isChanged ? 'is now' : 'already is'
  return `${partner.shortName} ${verb} ${readPartnerStatus(partner)}, with the plans of ${partner.country}.`
}

function describeClosing(target: Target, { partner: { shortName, closedAt }, isChanged }: PartnerChange): string {
  if (isChanged || closedAt === null) return `${shortName} is now closed, for good.`
  return describeClosed(target, shortName, closedAt)
}

function describeCountry({ partner, isChanged }: PartnerChange): string {
  const sentence = `${partner.shortName} ${isChanged ? 'now' : 'already'} lists the plans of ${partner.country}.`
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
  return `Tokens of ${partner.shortName} from before ${formatIsoTime(partner.tokensValidFrom ?? 0)} are refused everywhere within two minutes. ${later}`
}

function printLockdown(io: Io, made: LockedDown, isSuspended: boolean, options: OutputOptions): void {
  const { tokensValidFrom, ...credentials } = made
  const message = formatLockdownMessage(credentials, tokensValidFrom, isSuspended)
  if (options.json) {
    const more = { tokensValidFrom: formatOptionalTime(tokensValidFrom), message }
    io.stdout.write(`${JSON.stringify({ ...credentials, ...more })}\n`)
    return
  }
  const { shortName } = credentials
  printCredentials(io, credentials, options)
  if (isSuspended) io.stderr.write(`${shortName} is still suspended: it gets no token.\n`)
  io.stderr.write(`Send this to ${shortName}, and the secret separately, over a channel that you trust:\n\n${message}`)
}

/** The text for the partner. It never holds the secret. */
function formatLockdownMessage(
  { clientId, shortName }: Credentials,
  tokensValidFrom: number | null,
  isSuspended: boolean,
): string {
  const time = tokensValidFrom === null ? 'now' : formatIsoTime(tokensValidFrom)
  const next = isSuspended
    ? 'Your account is suspended: the new secret gets no access token until we end the suspension.'
    : 'Then request a new access token.'
  return `A client secret of your account ${shortName} (client ID ${clientId}) may be known to others. We have replaced it.
- Your earlier client secrets no longer work. The token endpoint answers 401 invalid_client to them.
- Access tokens that were issued before ${time} are refused with 401 invalid_token, everywhere within two minutes.
- You get a new client secret from us separately. Put it in place of the old one now. ${next}
Your client ID stays the same. Remove the old secret from every place where others could read it.
`
}

/** @throws UserError when nothing is piped in: a terminal would show the secret. */
async function readText({ stdin }: Io, target: Target): Promise<string> {
  const text = stdin.isTTY ? '' : decodeLeniently(await readInput('-', stdin))
  if (text.trim() !== '') return text
  const identify = describeCommand(target, 'partner', 'identify')
  throw new UserError(
    `There is no secret on standard input. Pass it in a file that only you can read, or through a pipe: ${identify} < FILE`,
  )
}

const maxGraceDays = 30

/** @throws UserError unless it is a time from 0 to 30 days. */
function parseGrace(text: string): number {
  const seconds = parseDuration(text)
  if (seconds !== undefined && seconds <= maxGraceDays * 86_400) return seconds
  throw new UserError(
    `--grace must be 0 or a time of at most ${maxGraceDays} days, such as 30m, 24h or 7d; it is ${abbreviate(text)}.`,
  )
}

function printCredentials(io: Io, credentials: Credentials, options: OutputOptions): void {
  const { clientId, clientSecret, shortName, country } = credentials
  const row = { 'SHORT NAME': shortName, COUNTRY: country, 'CLIENT ID': clientId, 'CLIENT SECRET': clientSecret }
  const note = 'The secret is shown only this once: only its hash is stored.'
  printResult(io, options, { clientId, clientSecret, shortName, country }, formatTable([row]), note)
}

function formatPartners(partners: readonly PartnerSummary[], nowMs: number): string {
  const rows = partners.map((partner) => ({
    'SHORT NAME': partner.shortName,
    NAME: partner.name,
    COUNTRY: partner.country,
    'CLIENT ID': partner.clientId,
    STATUS: readPartnerStatus(partner),
    CREATED: formatIsoTime(partner.createdAt).slice(0, 10),
    SECRETS: String(partner.secretCount),
    OLDEST: partner.oldestSecretAt === null ? '' : formatAge(nowMs - partner.oldestSecretAt * 1000),
    ROTATE: isRotationDue(partner, nowMs) ? 'due' : '',
  }))
  return formatTable(rows)
}

function formatPartner(partner: Partner, secrets: readonly LiveSecret[]): string {
  const statusAt = partner.closedAt ?? partner.suspendedAt
  const since = statusAt === null ? '' : ` since ${formatIsoTime(statusAt)}`
  return formatPairs([
    ['short name', partner.shortName],
    ['name', partner.name],
    ['country', partner.country],
    ['client ID', partner.clientId],
    ['status', `${readPartnerStatus(partner)}${since}`],
    ['created', formatIsoTime(partner.createdAt)],
    ...(partner.tokensValidFrom === null
      ? []
      : [['tokens valid from', formatIsoTime(partner.tokensValidFrom)] as const]),
    ...(partner.contact === null ? [] : [['contact', partner.contact] as const]),
    ...secrets.map((secret): [string, string] => ['secret', formatSecret(secret)]),
  ])
}

function formatSecret({ createdAt, expiresAt }: LiveSecret): string {
  const rotated = expiresAt === null ? '' : `, rotated, works until ${formatIsoTime(expiresAt)}`
  return `since ${formatIsoTime(createdAt)}${rotated}`
}

function toJson(partner: Partner) {
  const { shortName, name, country, clientId, contact, createdAt, suspendedAt, closedAt, tokensValidFrom } = partner
  return {
    shortName,
    name,
    country,
    clientId,
    status: readPartnerStatus(partner),
    createdAt: formatIsoTime(createdAt),
    suspendedAt: formatOptionalTime(suspendedAt),
    closedAt: formatOptionalTime(closedAt),
    tokensValidFrom: formatOptionalTime(tokensValidFrom),
    contact,
  }
}

function summaryToJson(partner: PartnerSummary, nowMs: number) {
  const { secretCount, oldestSecretAt } = partner
  const secrets = { secretCount, oldestSecretAt: formatOptionalTime(oldestSecretAt) }
  return { ...toJson(partner), ...secrets, isRotationDue: isRotationDue(partner, nowMs) }
}

function secretToJson({ createdAt, expiresAt }: LiveSecret) {
  return { createdAt: formatIsoTime(createdAt), expiresAt: formatOptionalTime(expiresAt) }
}
