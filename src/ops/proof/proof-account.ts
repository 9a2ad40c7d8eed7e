// What the proof may use of an account: nothing that was there before. It notes what it makes, and deletes exactly that.
import { readPath } from '../../json.ts'
import { openAccount, type Call } from '../store/cloudflare-api.ts'
import { CloudflareError, isUncertain } from '../store/failure.ts'
import { readConfiguredEnvironment, type ConfiguredEnvironment } from '../store/deployment.ts'
import { openResources, type Place } from '../store/environment-resources.ts'

/** Something of the account. The ID is unknown while a creation is not answered; a Worker has none. */
export interface Made {
  kind: 'Worker' | 'KV namespace' | 'database'
  name: string
  id?: string
}

/** @returns the command that deletes it, at once unless it `asks`. */
export function describeDeletion({ kind, name }: Made, asks?: 'asks'): string {
  if (kind === 'Worker') return `npx wrangler delete --name ${name}${asks ? '' : ' --force'}`
  const noun = kind === 'database' ? 'd1' : 'kv namespace'
  return `npx wrangler ${noun} delete ${name}${asks ? '' : ' --skip-confirmation'}`
}

/** What is there before the proof. */
export interface Found {
  environment: Pick<ConfiguredEnvironment, 'env' | 'hasRoute' | 'databaseId' | 'namespaceId'>
  /** What has the names that the proof needs. */
  taken: readonly Made[]
  /** The number of partners in the database. */
  partners: number
}

/** @returns a line for each reason not to begin: the proof deletes the environment at its end. */
export function findProofObstacles({ environment, taken, partners }: Found): string[] {
  const { env, hasRoute, databaseId, namespaceId } = environment
  const hasId = (databaseId ?? namespaceId) !== undefined
  const isUsed = partners > 0 || hasRoute || hasId
  const obstacles = [
    /prod|stag|live/i.test(env) && `${env} is no environment to prove on: use --env proof.`,
    partners > 0 && `The environment ${env} has partners (${partners}), which the proof would delete.`,
    hasRoute && `[env.${env}] has a route. The proof uses only workers.dev: remove the route.`,
    hasId && `wrangler.toml has an ID in [env.${env}], so somebody uses it. The proof makes an environment of its own.`,
    ...taken.map(
      (one) =>
        `The account has the ${one.kind} ${one.name}, which this run did not make.${isUsed ? '' : ` If an earlier proof left it: ${describeDeletion(one, 'asks')}`}`,
    ),
  ]
  return obstacles.filter((obstacle) => typeof obstacle === 'string')
}

/** The database that the backup is restored into. */
export const nameRestored = (database: string) => `${database}-restored`

/** @throws UserError when the environment or the account can't be read. */
export async function inspectAccount(env: string): Promise<Found> {
  const environment = await readConfiguredEnvironment(env)
  const { call } = await openAccount({ remote: true, env })
  const { names, database, namespace } = await openResources(env)
  const restored = nameRestored(names.database)
  const [scripts, databaseId, restoredId, namespaceId] = await Promise.all([
    call('GET', '/workers/scripts'),
    database.findByName(names.database),
    database.findByName(restored),
    namespace.findByName(names.namespace),
  ])
  const hasWorker = Array.isArray(scripts) && scripts.some((one) => readPath(one, 'id') === environment.worker)
  const usedId = environment.databaseId ?? databaseId
  const named: [Made['kind'], string, string | undefined][] = [
    ['KV namespace', names.namespace, namespaceId],
    ['database', names.database, databaseId],
    ['database', restored, restoredId],
  ]
  const resources = named.flatMap(([kind, name, id]) => (id === undefined ? [] : { kind, name, id }))
  return {
    environment,
    taken: hasWorker ? [{ kind: 'Worker', name: environment.worker }, ...resources] : resources,
    partners: usedId === undefined ? 0 : await countPartners(call, usedId),
  }
}

/** @returns 0 for a database that has no such table, or is not there. */
async function countPartners(call: Call, databaseId: string): Promise<number> {
  try {
    const sql = 'select count(*) from partners'
    const answer = await call('POST', `/d1/database/${databaseId}/raw`, { sql, params: [] })
    return Number(readPath(answer, 0, 'results', 'rows', 0, 0))
  } catch (error) {
    if (error instanceof CloudflareError) return 0
    throw error
  }
}

/** What another run made meanwhile is not adopted. */
const findNothing = () => Promise.resolve(undefined)

const paths = { Worker: '/workers/scripts', database: '/d1/database', 'KV namespace': '/storage/kv/namespaces' }

export type ProofAccount = Awaited<ReturnType<typeof openProofAccount>>

/** Opens an account that has nothing by the names of the environment. Nothing is created after `signal` aborts. */
export async function openProofAccount(env: string, signal: AbortSignal) {
  const resources = await openResources(env)
  const { worker } = await readConfiguredEnvironment(env)
  const { call } = await openAccount({ remote: true, env })
  const made: Made[] = []

  const create = async (kind: Made['kind'], name: string, run: () => Promise<string>): Promise<string> => {
    signal.throwIfAborted()
    const entry: Made = { kind, name }
    made.push(entry)
    try {
      entry.id = await run()
      return entry.id
    } catch (error) {
      // Refused, so this run made nothing: whatever has the name is somebody else's.
      if (error instanceof CloudflareError && !isUncertain(error)) made.splice(made.indexOf(entry), 1)
      throw error
    }
  }

  const destroyOne = async ({ kind, name, id }: Made): Promise<void> => {
    if (kind === 'Worker') return void (await call('DELETE', `${paths[kind]}/${name}?force=true`))
    const resource = kind === 'database' ? resources.database : resources.namespace
    const knownId = id ?? (await resource.findByName(name))
    if (knownId !== undefined) await call('DELETE', `${paths[kind]}/${knownId}`)
  }

  const { database, namespace } = resources
  return {
    call,
    worker,
    resources: {
      ...resources,
      database: {
        ...database,
        findByName: findNothing,
        create: (name: string, place: Place) => create('database', name, () => database.create(name, place)),
      },
      namespace: {
        ...namespace,
        findByName: findNothing,
        create: (name: string) => create('KV namespace', name, () => namespace.create(name)),
      },
    },
    /** To be called before the first secret, which makes the Worker. */
    noteWorker: () => {
      signal.throwIfAborted()
      made.push({ kind: 'Worker', name: worker })
    },
    /** What this run made, and has not deleted. */
    listMade: (): readonly Made[] => made,
    /** Deletes the Worker first, which uses the others, and goes on after a failure. @returns a line for each failure. */
    destroy: async (): Promise<string[]> => {
      const problems: string[] = []
      for (const one of made.toSorted((a, b) => Number(b.kind === 'Worker') - Number(a.kind === 'Worker'))) {
        const problem = await destroyOne(one).then(
          () => undefined,
          (error: unknown) => (error instanceof CloudflareError && error.isMissing ? undefined : String(error)),
        )
        if (problem === undefined) made.splice(made.indexOf(one), 1)
        else problems.push(problem)
      }
      return problems
    },
  }
}
