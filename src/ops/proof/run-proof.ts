// The proof from provision to restore: each step as an owner makes it, then measurements and experiments.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readPath } from '../../json.ts'
import type { SmokeOutcome } from '../core/smoke-test.ts'
import { openDeploySteps } from '../commands/deploy-command.ts'
import type { Run } from '../commands/run.ts'
import { readBackup, restoreBackup } from '../core/backup.ts'
import { prepareImport, readCatalog } from '../core/catalog-import.ts'
import { deployGuarded, pickMainVersion } from '../core/guarded-deploy.ts'
import { rotateKeys } from '../core/key-ring.ts'
import { changePartner, createPartner } from '../core/partner-accounts.ts'
import { closePlan } from '../core/plan-changes.ts'
import { provision } from '../core/provisioning.ts'
import { publishChange } from '../core/publications.ts'
import { UserError } from '../shared/user-error.ts'
import { deployWithWrangler, listServiceVersions, readConfiguredEnvironment } from '../store/deployment.ts'
import { readLines } from '../store/read-input.ts'
import { finishWrangler, startWrangler } from '../store/wrangler.ts'
import { writePrivateFile } from '../store/write-output.ts'
import { databaseExperiments } from './database-experiments.ts'
import { decide, type Experiment, type Finding } from './experiment.ts'
import { measure, openService, send, waitForChange, type Reply, type Series, type Wait } from './measurements.ts'
import { nameRestored, type ProofAccount } from './proof-account.ts'
import type { RunStep, Step } from './proof-steps.ts'
import { rollbackExperiments, serviceExperiments, versionHeader } from './service-experiments.ts'

/** What a run has found so far. */
export interface Results {
  steps: Step[]
  findings: Finding[]
  series: Series[]
  waits: Wait[]
  /** Headers of a list. */
  headers: [name: string, value: string][]
  /** Cloudflare's name of the location that answered. */
  location: string | undefined
}

export interface ProofOptions {
  env: string
  /** Where the database gets its primary. */
  location: string
  /** How long a new key spreads before it signs. */
  keyWaitSeconds: number
  weakToken: string | undefined
}

export interface ProofTools extends Pick<Run, 'withStore' | 'openKeyRing' | 'report'> {
  runStep: RunStep
  signal: AbortSignal
  /** A folder for the backup, which nobody else reads. */
  folder: string
  /** Gets each secret, which must not be in the report. */
  hide: (secret: string) => void
}

const requests = 50
const attribution = { actor: 'npm run prove', command: 'npm run prove', note: null }
const closingNote = 'Closed by the proof.'
const [firstLifetime, secondLifetime] = [3600, 1800]

/** @throws UserError when a step fails. Experiments and measurements may find anything. */
export async function runProof(
  { call, resources, worker, noteWorker }: ProofAccount,
  { env, location, keyWaitSeconds, weakToken }: ProofOptions,
  { withStore, openKeyRing, report, runStep, signal, folder, hide }: ProofTools,
  results: Results,
): Promise<void> {
  const target = { remote: true, env }
  const place = { location, jurisdiction: undefined }
  const run = async <Lab>(experiments: readonly Experiment<Lab>[], lab: Lab) => {
    for (const experiment of experiments) {
      signal.throwIfAborted()
      results.findings.push(await decide(experiment, lab))
    }
  }
  const continueRun = () => signal.throwIfAborted()
  const rotate = (waitSeconds: number) => {
    const rotation = { waitSeconds, onWait: continueRun, confirmReplacement: refuseReplacement }
    return withStore(target, async (store) => rotateKeys(await openKeyRing(target), store, attribution, rotation))
  }
  const findLiveVersion = async () => pickMainVersion(await listServiceVersions(env)) ?? ''

  const createSigningKey = () => {
    noteWorker()
    return rotate(0)
  }
  await runStep('Provision: database, tables, namespace, signing key', () =>
    provision({ ...resources, findSigningKey: async () => 'none', createSigningKey }, place, continueRun),
  )

  await runStep('Experiments with the database', async () => {
    const { databaseId } = await readConfiguredEnvironment(env)
    await run(databaseExperiments, { env, call, path: `/d1/database/${databaseId}`, weakToken })
  })

  const [partner, suspended] = await runStep('Import the demo catalog, and create two partners', () =>
    withStore(target, async (store) => {
      const text = await readFile('src/catalog/demo.json', 'utf8')
      const file = await readCatalog({ kind: 'json', text }, () => {}, store)
      await publishChange(store, await prepareImport(store, file), { attribution })
      const create = async (shortName: string) => {
        const made = await createPartner(store, { shortName, name: 'Proof', country: 'KE' }, attribution)
        hide(made.clientSecret)
        return made
      }
      return [await create('proof'), await create('proof-suspended')]
    }),
  )

  let origin = ''
  const smokes: SmokeOutcome[] = []
  const { clientId, clientSecret, shortName } = partner
  const credentials = { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, SHORT_NAME: shortName }
  /** As `npm run deploy` does it. */
  const deploy = async () => {
    const environment = await readConfiguredEnvironment(env)
    const steps = openDeploySteps(environment, undefined, credentials, report)
    const found = {
      findOrigin: async () => (origin = await steps.findOrigin()),
      deploy: (site: string) => {
        signal.throwIfAborted()
        return steps.deploy(site)
      },
      smokeTest: async (url: string, versionId: string) => {
        const outcome = await steps.smokeTest(url, versionId)
        smokes.push(outcome)
        // A check that fails the first time is a finding: the rest is worth knowing.
        return outcome === 'failed' && smokes[0] === 'failed' ? 'passed' : outcome
      },
    }
    const options = { allowDirty: true, skipCheck: true, hasTerminal: false }
    await deployGuarded(environment, options, { ...steps, ...found }, () => {})
  }
  await runStep('Deploy, and run the smoke test', deploy)
  const [service, other] = [openService(origin, partner), openService(origin, suspended)]
  const firstVersion = await findLiveVersion()

  const readToken = (reply: Reply) => {
    const token = readText(expectOk(reply), 'access_token')
    hide(token)
    return token
  }
  const getToken = async () => {
    const reply = await service.requestToken()
    return { token: readToken(reply), reply }
  }
  const getList = async (token: string) => expectOk(await service.list(token))

  const token = await runStep('Measure tokens and lists', async () => {
    const made = (await getToken()).token
    const list = await getList(made)
    const headers = { 'If-None-Match': list.headers.get('ETag') ?? '' }
    results.series.push(
      await measure('a file of the site, without the Worker', requests, () => send(`${origin}/`)),
      await measure('token, warm', requests, service.requestToken),
      await measure('list, warm', requests, () => service.list(made)),
      await measure('304, warm', requests, () => service.list(made, headers), 304),
    )
    results.headers = shownHeaders.map((name) => [name, list.headers.get(name) ?? '(none)'])
    results.location = /-([A-Z]{3})$/.exec(list.headers.get('CF-Ray') ?? '')?.[1]
    return made
  })

  const everySecond = { pauseMs: 1000, boundMs: 180_000, confirmations: 5, signal }
  const fiveASecond = { pauseMs: 200, boundMs: 120_000, confirmations: 20, signal }
  const wait = async (...watch: Parameters<typeof waitForChange>) => {
    const { first, ...found } = await waitForChange(...watch)
    results.waits.push(found)
    return first
  }

  const firstToken = await runStep('Publish a change, and suspend a partner', async () => {
    const first = await other.requestToken()
    results.series.push({ what: 'token, first of a partner', ms: [first.ms], failures: [] })
    const doomed = readToken(first)
    const plan = readText(await other.list(doomed), 'data', 'plans', 0, 'identifier')
    const change = { kind: 'suspend', partner: suspended.shortName } as const
    const operator = { attribution, warn: () => {} }
    await withStore(target, (store) =>
      Promise.all([
        closePlan(store, plan, closingNote, { attribution }).then(() =>
          wait('publish to visible', everySecond, () => service.list(token), isVisible),
        ),
        changePartner(store, change, operator).then(() =>
          wait('suspend to refused', everySecond, () => other.list(doomed), isRefused),
        ),
      ]),
    )
    return first
  })

  const smoke = smokes[0] ?? 'unreachable'
  const lab = { call, worker, service, smoke, firstToken, token, waits: results.waits }
  await runStep('Experiments with the service', () => run(serviceExperiments, lab))

  const coldList: Series = { what: 'list, first of a new version', ms: [], failures: [] }
  const coldToken: Series = { what: 'token, first of a new version', ms: [], failures: [] }
  results.series.push(coldList, coldToken)
  /** Waits until only this version answers. Its first answer comes from an isolate that has just started. */
  const waitForVersion = async (what: string, version: string, asks: 'list' | 'token') => {
    const isNew = ({ headers }: Reply) => headers.get(versionHeader) === version
    const [series, pace, request] =
      asks === 'list'
        ? [coldList, fiveASecond, () => service.list(token)]
        : [coldToken, everySecond, service.requestToken]
    const first = await wait(`${what} to the only version`, pace, request, isNew)
    if (first) series.ms.push(first.ms)
    return getToken()
  }

  const laterKid = await runStep('Rotate the signing key', async () => {
    await rotate(keyWaitSeconds)
    const after = await waitForVersion('key rotation', await findLiveVersion(), 'token')
    await getList(token)
    if (readKid(after.token) === readKid(token)) throw new UserError('The new key does not sign.')
    return readKid(after.token)
  })

  const secondVersion = await runStep('Deploy a second version, with another variable', async () => {
    signal.throwIfAborted()
    const deployed = await deployWithWrangler(env, origin, ['--var', `TOKEN_LIFETIME_SECONDS:${secondLifetime}`])
    if ('failureCode' in deployed) throw new UserError('wrangler deploy failed: see its message above.')
    expectLifetime((await waitForVersion('deploy', deployed.versionId, 'list')).reply, secondLifetime)
    return deployed.versionId
  })

  await runStep('Roll back to the first version', async () => {
    const args = ['rollback', firstVersion, '--env', env, '--message', 'Proof', '--yes']
    const { exitCode, output } = await finishWrangler(startWrangler(args, ['ignore', 'pipe', 'pipe']))
    if (exitCode !== 0) throw new UserError(['wrangler rollback failed.', output.slice(-1000)])
    expectLifetime((await waitForVersion('rollback', firstVersion, 'token')).reply, firstLifetime)
    await run(rollbackExperiments, { ...lab, target, live: firstVersion, latest: secondVersion, laterKid })
  })

  await runStep('Back up, restore into a second database, and deploy to it', async () => {
    const before = await getList((await getToken()).token)
    const file = join(folder, 'proof.backup')
    const plan = readText(before, 'data', 'plans', 1, 'identifier')
    await withStore(target, async (store) => {
      await writePrivateFile(file, readBackup(store, continueRun))
      // So that a list of the first database would differ.
      await closePlan(store, plan, 'Closed after the backup.', { attribution })
    })
    const { database, migrate, names } = resources
    await database.saveId(await database.create(nameRestored(names.database), place))
    await migrate()
    await withStore(target, async (store) => {
      await restoreBackup(store, () => readLines(file), continueRun)
      // So that the list comes from the restored database.
      for (const { name } of await store.listKeys('')) await store.deleteKey(name)
    })
    await deploy()
    const after = await getList((await waitForVersion('restore', await findLiveVersion(), 'list')).token)
    if (after.body !== before.body) throw new UserError('The list differs after the restore.')
  })
}

const shownHeaders = [
  'Content-Type',
  'Content-Encoding',
  'Cache-Control',
  'ETag',
  'Vary',
  'Cache-Status',
  'CF-Cache-Status',
  'Server',
  'Strict-Transport-Security',
  versionHeader,
]

function expectOk(reply: Reply): Reply {
  if (reply.status === 200) return reply
  throw new UserError(`The service answered with status ${reply.status}: ${reply.body.slice(0, 200)}`)
}

const isVisible = ({ body }: Reply) => body.includes(closingNote)
const isRefused = ({ status }: Reply) => status === 401

function expectLifetime(token: Reply, seconds: number): void {
  const found = readText(token, 'expires_in')
  if (found !== String(seconds)) throw new UserError(`Tokens live for ${found} s, not for ${seconds} s.`)
}

const refuseReplacement = () => Promise.reject(new UserError('Somebody else set JWT_KEYS meanwhile.'))

/** Reads a value of a JSON body. */
function readText({ body }: Reply, ...path: PropertyKey[]): string {
  return String(readPath(JSON.parse(body), ...path))
}

/** The ID of the key that signed a token. */
function readKid(token: string): string {
  const [header = ''] = token.split('.')
  return String(readPath(JSON.parse(Buffer.from(header, 'base64url').toString()), 'kid'))
}
