// How much CPU commands of the operators take, alone or side by side with those of another checkout.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { readOrdinaryPlans } from '../support/demo-plans.ts'

export interface CommandRow {
  command: string
  /** Median of user and system time, with that of the programs that it starts. */
  cpuMs: number
  /** The median of the same command in the other checkout. */
  beforeMs: number | undefined
  /** The most that the ratio of both may be. */
  goal: number
}

const project = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
const planCount = 10_000

/** The goals compare with the commit before "Ready for the real platform", 995a34d. */
const commands: { words: readonly string[]; goal: number; rounds: number }[] = [
  { words: ['--help'], goal: 0.35, rounds: 7 },
  { words: ['partner', 'list', '--persist-to', 'STATE'], goal: 0.55, rounds: 7 },
  { words: ['catalog', 'import', 'FILE', '--persist-to', 'STATE'], goal: 0.8, rounds: 3 },
]

/** @param before the folder of another checkout, after its `npm ci`. */
export async function measureCommands(before: string | undefined, note: (text: string) => void): Promise<CommandRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'catalog-bench-'))
  try {
    const file = join(folder, 'plans.json')
    await writeFile(file, JSON.stringify({ plans: await makePlans() }))
    const checkouts = [project, ...(before === undefined ? [] : [resolve(before)])]
    for (const [index, checkout] of checkouts.entries()) await migrate(checkout, join(folder, `empty-${index}`))
    const rows: CommandRow[] = []
    for (const { words, goal, rounds } of commands) {
      const command = words.slice(0, 2).join(' ')
      note(`${command} …`)
      const times: number[][] = checkouts.map(() => [])
      // The first round fills caches. The checkouts take turns, because the machine may be noisy.
      for (let round = 0; round <= rounds; round++) {
        for (const [index, checkout] of checkouts.entries()) {
          const state = join(folder, 'state')
          await rm(state, { recursive: true, force: true })
          await cp(join(folder, `empty-${index}`), state, { recursive: true })
          const args = words.map((word) => ({ STATE: state, FILE: file })[word] ?? word)
          const cpuMs = await measureCpu(checkout, args)
          if (round > 0) times[index]?.push(cpuMs)
        }
      }
      const [cpuMs = 0, beforeMs] = times.map(findMedian)
      rows.push({ command, cpuMs, beforeMs, goal })
    }
    return rows
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function makePlans() {
  const demo = await readOrdinaryPlans()
  return Array.from({ length: planCount }, (_, index) => {
    const plan = demo[index % demo.length]
    return { ...plan, id: index + 1, identifier: `plan-${index + 1}`, name: `Plan ${index + 1}` }
  })
}

async function migrate(checkout: string, state: string): Promise<void> {
  await run('npm', ['run', '-s', 'migrate', '--', '--local', '--persist-to', state], { cwd: checkout })
}

/** @returns user and system time in milliseconds, as bash measures them. */
async function measureCpu(checkout: string, args: readonly string[]): Promise<number> {
  const { scripts } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { scripts: { ops: string } }
  const [, ...start] = scripts.ops.split(' ')
  const program = [join(checkout, 'node_modules/.bin/node'), ...start, ...args]
  const script = `TIMEFORMAT='%U %S'; time "$@" > /dev/null 2>&1`
  const { stderr } = await run('bash', ['-c', script, 'bash', ...program], { cwd: checkout })
  const [user = 0, system = 0] = stderr.trim().split(' ').map(Number)
  return 1000 * (user + system)
}

function findMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
