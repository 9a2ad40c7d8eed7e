// npm run prove
import { rmSync } from 'node:fs'
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { assumptions } from '../proof/assumptions.ts'
import { skip } from '../proof/experiment.ts'
import { describeDeletion, findProofObstacles, inspectAccount, openProofAccount } from '../proof/proof-account.ts'
import { formatReport } from '../proof/proof-report.ts'
import { createStepRunner, describeProblem } from '../proof/proof-steps.ts'
import { runProof, type ProofOptions, type Results } from '../proof/run-proof.ts'
import { UserError } from '../shared/user-error.ts'
import { writeOutput } from '../store/write-output.ts'
import type { Handler } from './declaration.ts'
import type { proveDeclaration } from './programs.ts'
import type { Run } from './run.ts'

const maxMinutes = 45
/** A person needs longer to interrupt again. */
const minPauseMs = 2000

export const proveCommand: Handler<typeof proveDeclaration> = async ({ env, location, keyWait, report }, run) => {
  const { PROOF_WEAK_TOKEN: weakToken } = process.env
  // Not for the programs that it starts: a secret of one experiment.
  delete process.env['PROOF_WEAK_TOKEN']
  const name = report ?? `proof-${new Date().toISOString().slice(0, 10)}.md`
  const file = resolve(process.env['INIT_CWD'] ?? '.', name)
  await withProjectCopy((folder) => prove(run, { env, location, keyWaitSeconds: keyWait, weakToken }, folder, file))
}

/** What a deploy reads. */
const parts = ['src', 'migrations', 'package.json', 'tsconfig.json', 'wrangler.toml']

/**
 * Works in a copy of the project, and deletes it: deploys write IDs into its wrangler.toml, not into the user's.
 * @param work gets a folder that only this user may read.
 */
async function withProjectCopy<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const project = process.cwd()
  const folder = await mkdtemp(join(tmpdir(), 'proof-'))
  try {
    for (const part of parts) await cp(join(project, part), join(folder, part), { recursive: true })
    await symlink(resolve(project, 'node_modules'), join(folder, 'node_modules'))
    process.chdir(folder)
    return await work(folder)
  } finally {
    process.chdir(project)
    await rm(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** @param file of the report. */
async function prove(context: Run, options: ProofOptions, folder: string, file: string): Promise<void> {
  const { report: print, clock } = context
  const { env } = options
  // Its list of files is longer than everything else.
  process.env['WRANGLER_LOG'] ??= 'warn'
  const obstacles = findProofObstacles(await inspectAccount(env))
  if (obstacles.length > 0) throw new UserError([...obstacles, 'Nothing was changed.'])

  const stop = new AbortController()
  const { signal } = stop
  const tooLong = new UserError(`It took longer than ${maxMinutes} minutes.`)
  const timer = setTimeout(() => stop.abort(tooLong), maxMinutes * 60_000)
  const account = await openProofAccount(env, signal)
  const listLeft = () => account.listMade().map((one) => `  the ${one.kind} ${one.name}: ${describeDeletion(one)}`)
  let stoppedAtMs = 0
  const onSignal = (name: NodeJS.Signals) => {
    if (!signal.aborted) {
      stoppedAtMs = performance.now()
      print('Stopping. What was made is deleted first, which takes up to a minute; interrupt again to leave it there.')
      stop.abort(new UserError('It was interrupted.'))
      return
    }
    // npm hands on the signal that the terminal has already sent.
    if (name !== 'SIGINT' || performance.now() - stoppedAtMs < minPauseMs) return
    print(['Interrupted again. This is left, with the command that deletes it:', ...listLeft()].join('\n'))
    rmSync(folder, { recursive: true, force: true })
    process.exit(2)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, onSignal)

  const startedAtMs = clock.nowMs()
  const results: Results = { steps: [], findings: [], series: [], waits: [], headers: [], location: undefined }
  const secrets = [process.env['CLOUDFLARE_API_TOKEN'] ?? '', options.weakToken ?? '']
  const runStep = createStepRunner(results.steps, signal, print)
  let failure: unknown
  try {
    await runProof(account, options, { ...context, runStep, signal, folder, hide: (one) => secrets.push(one) }, results)
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
  }
  clearTimeout(timer)
  const decided = new Set(results.findings.map(({ assumption }) => assumption))
  results.findings.push(...assumptions.filter(({ assumption }) => !decided.has(assumption)).map(skip))
  print('Deleting what was made …')
  for (const line of await account.destroy()) print(line)

  const report = formatReport({
    ...results,
    env,
    startedAtMs,
    endedAtMs: clock.nowMs(),
    api: new URL(process.env['CLOUDFLARE_API_BASE_URL'] ?? 'https://api.cloudflare.com').host,
    problem: failure === undefined ? undefined : describeProblem(failure),
    left: account.listMade(),
  })
  const text = secrets.filter(Boolean).reduce((rest, secret) => rest.replaceAll(secret, '…'), report)
  await writeOutput(file, text).catch((error: unknown) => {
    print(text)
    throw error
  })
  for (const name of signals) process.off(name, onSignal)
  print(`The report is ${file}.`)
  const left = listLeft()
  if (left.length > 0) print(['This could not be deleted:', ...left].join('\n'))
  if (failure !== undefined) throw failure
  const failed = results.findings.filter(({ verdict }) => verdict === 'failed').length
  if (failed > 0) throw new UserError(`The proof is not complete: ${failed} of its experiments failed. See the report.`)
  if (left.length > 0) throw new UserError('The proof is complete, but not everything is deleted.')
  print('The proof is complete.')
}
