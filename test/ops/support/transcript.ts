// Replays the commands of a transcript: test/README.md says how to write one.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { clientSecretPattern } from '../../../src/crypto/client-secret.ts'
import type { CommandContext } from '../../../src/ops/commands/frame/command-context.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { runCommand } from './run-ops.ts'

/** Each command runs a minute after the one before, and each heading starts an hour after the one before. */
const startMs = Date.UTC(2026, 10, 2, 8)
const headingMs = 3600_000

interface Setup extends Partial<Omit<CommandContext, 'io' | 'argv'>> {
  /** The contents of files that the commands find. */
  files?: Readonly<Record<string, string>>
  setNextPublication: (id: number) => Promise<void>
}

/**
 * @param setup also replaces the real stores and keys.
 * @returns the transcript, with what the commands print now.
 */
export async function replay(
  transcript: string,
  { files = {}, setNextPublication, ...context }: Setup,
): Promise<string> {
  const folder = await createFolder()
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  vi.stubEnv('INIT_CWD', folder)
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: startMs })
  // Mulberry32.
  let state = 1
  const drawByte = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 24
  }
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((bytes) => (bytes as Uint8Array).map(drawByte))
  onTestFinished(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  const secretsByName = new Map<string, string>()
  const namesBySecret = new Map<string, string>()
  let heading = 0
  let shownSecrets = 0
  /** Everything that is counted begins anew, so that a new command changes only the lines of its heading. */
  const begin = async () => {
    heading += 1
    shownSecrets = 0
    state = heading
    vi.setSystemTime(startMs + (heading - 1) * headingMs)
    await setNextPublication(100 * heading + 1)
  }
  const nameSecret = (secret: string) => {
    const name = `SECRET-${100 * heading + ++shownSecrets}`
    secretsByName.set(name, secret)
    namesBySecret.set(secret, name)
    return name
  }
  const hide = (text: string) =>
    text.replaceAll(new RegExp(clientSecretPattern, 'g'), (secret) => namesBySecret.get(secret) ?? nameSecret(secret))
  const reveal = (text: string) =>
    text.replaceAll(/SECRET-\d+/g, (name) => {
      const secret = secretsByName.get(name)
      if (secret === undefined) throw new Error(`no command printed ${name} before`)
      return secret
    })

  const run = async (line: string): Promise<string> => {
    vi.setSystemTime(Date.now() + 60_000)
    const [, command = '', arrow, file = ''] = /^\$ (.*?)(?: ([<>]) (\S+))?$/.exec(reveal(line)) ?? []
    const [program, ...args] = (command.match(/"(?:\\.|[^"])*"|\S+/g) ?? []).map((word) =>
      word.startsWith('"') ? String(JSON.parse(word)) : word,
    )
    const stdin = arrow === '<' ? await readFile(join(folder, file), 'utf8') : ''
    const { code, stdout, stderr } =
      program === 'ops'
        ? await runCommand(args, { clock: { nowMs: () => Date.now(), sleep: async () => {} }, ...context }, { stdin })
        : { code: 0, stdout: program === 'echo' ? `${args.join(' ')}\n` : stdin, stderr: '' }
    if (code === 1) throw new Error(`${line} met a bug: ${stderr}`)
    if (arrow === '>') await writeFile(join(folder, file), stdout)
    const shown = arrow === '>' ? '' : stdout.replaceAll(/^(?:\{.*\}|\[\{.*\]|\[\])$/gm, spread)
    return hide(`${line}\n${shown}${stderr.replaceAll(/^(?=.)/gm, '! ')}${code === 0 ? '' : `[exit ${code}]\n`}\n`)
  }

  let played = ''
  const lines = (await readFile(transcript, 'utf8')).match(/^(?:#|\$ (?:ops|echo|cat)) .*$/gm) ?? []
  for (const line of lines) {
    if (line.startsWith('#')) {
      await begin()
      played += `${line}\n`
    } else played += await run(line)
  }
  return played
}

/** Prints JSON with a line for each member. */
const spread = (json: string) => JSON.stringify(JSON.parse(json), null, 2)
