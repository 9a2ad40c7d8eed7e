// Runs a command line in this process.
import { createCommandContext, type CommandContext } from '../../../src/ops/commands/frame/command-context.ts'
import { runCommandLine } from '../../../src/ops/commands/command-line.ts'
import { commands } from '../../../src/ops/commands/ops.ts'
import { toKebabCase, type Verb } from '../../../src/ops/commands/frame/verb.ts'

export interface Terminal {
  stdin?: string | Uint8Array
  /** Whether stdin is a terminal. */
  isTTY?: boolean
  /** Whether stdout and stderr show colors. */
  hasColors?: boolean
}

/** @returns every verb with its words. */
export async function listVerbs(): Promise<[words: string, verb: Verb][]> {
  const found: [string, Verb][] = []
  for (const [word, entry] of Object.entries(commands)) {
    if ('loadVerb' in entry) found.push([word, await entry.loadVerb()])
    else
      for (const [name, verb] of Object.entries(await entry.loadVerbs()))
        found.push([`${word} ${toKebabCase(name)}`, verb])
  }
  return found
}

/** @param overrides what replaces the real stores, keys and clock. */
export async function runCommand(
  args: readonly string[],
  overrides: Partial<Omit<CommandContext, 'io' | 'argv'>> = {},
  { stdin = '', isTTY = false, hasColors = false }: Terminal = {},
) {
  let [stdout, stderr] = ['', '']
  async function* read() {
    yield stdin
  }
  const io = {
    stdin: Object.assign(read(), { isTTY }),
    stdout: { write: (text: string) => (stdout += text), hasColors: () => hasColors },
    stderr: { write: (text: string) => (stderr += text), hasColors: () => hasColors },
  }
  const context = createCommandContext(io, args)
  const findActor = () => Promise.resolve('tester@example.com')
  const code = await runCommandLine({ ...context, findActor, ...overrides })
  return { code, stdout, stderr }
}

/** What a command returns that succeeds, and prints only its result. */
export function printed(stdout: unknown) {
  return { code: 0, stdout, stderr: '' }
}

/** What a command returns that refuses, and prints only the reason. */
export function refused(stderr: unknown) {
  return { code: 2, stdout: '', stderr }
}

/** The cells of a table that a command printed, by line. */
export function readTable(stdout: string): string[][] {
  return stdout.split('\n').map((line) => line.split(/ {2,}/))
}
