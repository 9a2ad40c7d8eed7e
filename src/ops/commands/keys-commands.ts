// keys rotate, list, drop, log
import type { Command } from 'commander'
import { abbreviate } from '../../abbreviate.ts'
import { readKidTimeMs } from '../../crypto/signing-keys.ts'
import { listKeyEntries, type ChangeEntry } from '../core/change-record.ts'
import { formatIsoTime, formatOptionalTime } from '../core/iso-time.ts'
import {
  describeRevivedKey,
  dropKey,
  findDroppableKey,
  findRevivedKeys,
  rotateKeys,
  type KeyRing,
} from '../core/key-ring.ts'
import { UserError } from '../shared/user-error.ts'
import { confirm } from '../terminal/confirm.ts'
import { formatAge } from '../terminal/age.ts'
import { createProgress } from '../terminal/progress.ts'
import { formatTable } from '../terminal/table.ts'
import { addChangeRecordCommand } from './change-record-command.ts'
import { addAttributionOptions, addCommand } from './add-command.ts'
import { readAttribution, type ChangeOptions, type CommandContext } from './command-context.ts'

export function addKeyCommands(program: Command, context: CommandContext): void {
  const { io, clock, openKeyRing, withStore } = context
  const noun = program.command('keys').description('the keys that sign access tokens')
  const add = (usage: string, description: string, example: string) =>
    addCommand(noun, usage, description, example).option('--json', 'print an array of the keys')
  const addChange = (usage: string, description: string, example: string) =>
    addAttributionOptions(add(usage, description, example))

  addChange('rotate', 'let a new key sign; earlier keys still verify, so that live tokens stay valid', 'rotate')
    .option('--wait <seconds>', 'with --remote: how long a new key spreads before it signs; 60 by default')
    .option('--yes', 'skip the question that --remote asks before it replaces a key that was set by other means')
    .action(async (options: ChangeOptions & { wait?: string }) => {
      const waitSeconds = parseWait(options)
      const attribution = await readAttribution(context, options)
      const keys = openKeyRing(options)
      const progress = createProgress(io)
      const rotation = {
        waitSeconds,
        onWait: (kid: string, passedSeconds: number) =>
          progress.update(`${kid} verifies, and signs in ${waitSeconds} s`, passedSeconds, waitSeconds),
        confirmReplacement: () =>
          confirm(
            io,
            options,
            'JWT_KEYS was not set by this command and can’t be read back: live tokens will be refused.',
          ),
      }
      try {
        const entries = await withStore(options, async (store) => {
          await rotateKeys(keys, store, attribution, rotation)
          return listKeyEntries(store, {})
        })
        await print(keys, entries, options)
      } finally {
        progress.end()
      }
      noteRestart(options)
    })

  add('list', 'list the keys and when they were made, the signing key first; never a key itself', 'list').action(
    async (options: ChangeOptions) => {
      const keys = openKeyRing(options)
      const hasKeys = (await keys.list()).length > 0
      await print(keys, hasKeys ? await readEntries(options) : [], options)
    },
  )

  addChange(
    'drop <kid>',
    'delete a key that no longer signs: tokens that it signed are refused from then on',
    'drop KID',
  )
    .option('--yes', 'skip the question that --remote asks')
    .action(async (kid: string, options: ChangeOptions) => {
      const attribution = await readAttribution(context, options)
      const keys = openKeyRing(options)
      const key = await findDroppableKey(keys, kid, options)
      const effect = key.use === 'waits' ? 'It has not signed a token yet.' : 'Tokens that it signed will be refused.'
      await confirm(io, options, `The key ${kid} will be deleted. ${effect}`)
      const entries = await withStore(options, async (store) => {
        await dropKey(keys, store, attribution, key)
        return listKeyEntries(store, {})
      })
      await print(keys, entries, options)
      noteRestart(options)
    })

  addChangeRecordCommand(context, addCommand(noun, 'log', 'show who changed keys, when and why', 'log'), {
    subject: 'KEY',
    list: listKeyEntries,
  })

  async function print(keys: KeyRing, entries: readonly ChangeEntry[], options: ChangeOptions): Promise<void> {
    const known = await keys.list()
    const revived = findRevivedKeys(known, entries)
    const rows = known.map(({ kid, use, endsWithDeploy = false, startsWithDeploy = false }) => {
      const timeMs = readKidTimeMs(kid)
      const droppedAt = revived.find((key) => key.kid === kid)?.droppedAt ?? null
      return {
        kid,
        use,
        createdAt: timeMs === undefined ? null : formatIsoTime(timeMs / 1000),
        droppedAt: formatOptionalTime(droppedAt),
        endsWithDeploy,
        startsWithDeploy,
      }
    })
    const table = rows.map(({ kid, use, createdAt, droppedAt, endsWithDeploy, startsWithDeploy }) => ({
      KID: kid,
      USE: [
        use,
        droppedAt !== null && 'though dropped',
        endsWithDeploy && 'until the next deploy',
        startsWithDeploy && 'from the next deploy',
      ]
        .filter(Boolean)
        .join(', '),
      AGE: createdAt === null ? 'unknown' : formatAge(clock.nowMs() - Date.parse(createdAt)),
    }))
    io.stdout.write(options.json ? `${JSON.stringify(rows)}\n` : formatTable(table))
    for (const key of revived) io.stderr.write(`Warning: ${describeRevivedKey(key, options)}\n`)
    if (!options.json && rows.length === 0) io.stderr.write('There is no key that this command made.\n')
  }

  /** The keys themselves are not in the database, so they are listed without it, too. */
  async function readEntries(options: ChangeOptions): Promise<ChangeEntry[]> {
    try {
      return await withStore(options, (store) => listKeyEntries(store, {}))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      io.stderr.write(`Warning: it is not known whether a key was dropped before: ${error.message}\n`)
      return []
    }
  }

  /** Wrangler reads .dev.vars only when it starts. */
  function noteRestart({ remote, json }: ChangeOptions): void {
    if (!remote && !json) io.stderr.write('Restart npm run dev to use the change.\n')
  }
}

function parseWait({ remote, wait }: ChangeOptions & { wait?: string }): number {
  if (!remote && wait !== undefined) throw new UserError('--wait is for deployed keys: add --remote.')
  if (wait === undefined) return 60
  if (/^[0-9]{1,4}$/.test(wait)) return Number(wait)
  throw new UserError(`--wait must be a number of seconds, such as 60; it is ${abbreviate(wait)}.`)
}
