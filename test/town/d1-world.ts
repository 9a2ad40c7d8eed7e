// D1 over node:sqlite: a primary, a replica in each location that lags behind, failures, hangs, and Time Travel. The primary
// keeps what each write changed, which replicas apply later, and from which an earlier database can be made again.
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { describeError, migrations } from '../ops/support/memory-bindings.ts'
import type { Clock } from './clock.ts'
import { createRandom } from './random.ts'
import { locations, type Condition, type Path, type Weather } from './weather.ts'

interface Write {
  atMs: number
  changeset: Uint8Array
  /** The version of the catalog since then. */
  version: number
}

interface Replica {
  database: DatabaseSync
  /** How many writes of the history it has. */
  applied: number
  version: number
  /** Restores that it has taken part in. */
  restores: number
}

/** Who calls D1, and hears what it gets. */
export interface Caller {
  path: Path
  /** A call failed, or had no answer within 5 s. */
  onFailure: () => void
  /** @param version of the catalog in the answer. */
  onAnswer: (version: number) => void
}

export type D1World = ReturnType<typeof createD1World>

/** The Worker waits for as long. */
const deadlineMs = 5000
const maxParameters = 100
const isWrite = /\b(?:insert into|update|delete from)\b/i

export function createD1World(clock: Clock, weather: Weather, seed: string) {
  const random = createRandom(`${seed} d1`)
  let skewMs = 0
  let history: Write[] = []
  let restored = { atMs: -Infinity, version: 0, count: 0 }
  let onWrite = (): number => 0

  function open(writes: readonly Write[]): DatabaseSync {
    const database = new DatabaseSync(':memory:')
    const nowMs = () => clock.nowMs() + skewMs
    database.function('unixepoch', { varargs: true }, (...args) =>
      args.includes('subsec') ? nowMs() / 1000 : Math.floor(nowMs() / 1000),
    )
    // The migration names the catalog at random. Each copy of the database has the same name.
    database.function('randomblob', (length) => new Uint8Array(Number(length)).fill(7))
    for (const migration of migrations) database.exec(migration)
    for (const { changeset } of writes) database.applyChangeset(changeset)
    return database
  }

  let primary = open([])
  const replicas: Replica[] = locations.map(() => ({ database: open([]), applied: 0, version: 0, restores: 0 }))
  const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

  function execute(database: DatabaseSync, sql: string, params: readonly unknown[], asArrays: boolean): unknown[] {
    const statements = prepared.get(database) ?? new Map<string, StatementSync>()
    prepared.set(database, statements)
    const run = () => {
      const statement = statements.get(sql) ?? database.prepare(sql)
      statements.set(sql, statement)
      statement.setReturnArrays(asArrays)
      return statement.all(...(params as SQLInputValue[]))
    }
    try {
      if (params.length > maxParameters) throw new Error('too many SQL variables')
      if (!isWrite.test(sql)) return run()
      if (database !== primary) throw new Error('attempt to write a readonly database')
      const session = database.createSession()
      try {
        return run()
      } finally {
        const changeset = session.changeset()
        session.close()
        if (changeset.length > 0) {
          const write = { atMs: clock.nowMs(), changeset, version: 0 }
          history.push(write)
          write.version = onWrite()
        }
      }
    } catch (error) {
      throw describeError(error)
    }
  }

  /** Brings a replica to where its lag allows. */
  function catchUp(index: number): Replica {
    const replica = replicas[index]
    if (replica === undefined) throw new Error('no such replica')
    const untilMs = clock.nowMs() - weather.lagOf(index)
    if (replica.restores < restored.count && restored.atMs <= untilMs) {
      replica.database.close()
      const applied = history.filter(({ atMs }) => atMs <= restored.atMs).length
      const database = open(history.slice(0, applied))
      Object.assign(replica, { database, applied, version: restored.version, restores: restored.count })
    }
    while (replica.restores === restored.count) {
      const write = history[replica.applied]
      if (write === undefined || write.atMs > untilMs) break
      replica.database.applyChangeset(write.changeset)
      replica.applied++
      replica.version = write.version
    }
    return replica
  }

  /** Makes a call as the weather is. @param target a replica, or the primary. */
  async function call<T>(caller: Caller, target: number | 'primary', run: (database: DatabaseSync) => T): Promise<T> {
    const condition = weather.conditionOf(target === 'primary' ? 'primary' : 'd1', caller.path)
    const { isRun, end, latencyMs } = chooseFate(condition, target)
    const failure = clock.after(deadlineMs, caller.onFailure)
    const settle = (report: () => void) => {
      failure.act = undefined
      report()
    }
    await clock.sleep(latencyMs / 2)
    let version = 0
    let answer: T | undefined
    if (isRun) {
      const replica = target === 'primary' ? undefined : catchUp(target)
      answer = run(replica?.database ?? primary)
      version = replica ? replica.version : (history.at(-1)?.version ?? 0)
      if (target === 'primary' && restored.version > version) version = restored.version
    }
    if (end === 'hang') return new Promise(() => {})
    await clock.sleep(latencyMs / 2)
    if (end === 'fail') {
      settle(caller.onFailure)
      throw new Error(
        random.pick(['D1_ERROR: Network connection lost.', 'D1_ERROR: D1 DB storage operation exceeded timeout']),
      )
    }
    settle(() => caller.onAnswer(version))
    return answer as T
  }

  function chooseFate(condition: Condition, target: number | 'primary') {
    const isFar = target === 'primary'
    const latencyMs =
      condition === 'slow' ? random.between(300, 4500) : random.between(isFar ? 20 : 2, isFar ? 120 : 15)
    const ends: Record<Condition, ('answer' | 'fail' | 'lose' | 'hang')[]> = {
      fine: ['answer'],
      slow: ['answer'],
      flaky: ['answer', 'answer', 'fail', 'lose', 'hang'],
      failing: ['fail'],
      hanging: ['hang'],
    }
    const end = random.pick(ends[condition])
    const isRun = end === 'answer' || end === 'lose' || (end === 'hang' && random.chance(0.3))
    return { isRun, end: end === 'lose' ? ('fail' as const) : end, latencyMs }
  }

  /** As a binding of the Worker. @param home the replica that is nearest. */
  function createBinding(caller: Caller, home: number): D1Database {
    const openSession = (target: number | 'primary') => {
      const prepare = (sql: string, params: unknown[] = []): object => {
        const all = async () => {
          const results = await call(caller, target, (database) => execute(database, sql, params, false))
          return { success: true, meta: {}, results }
        }
        return {
          bind: (...values: unknown[]) => prepare(sql, values),
          raw: () => call(caller, target, (database) => execute(database, sql, params, true)),
          all,
          run: all,
        }
      }
      return { prepare }
    }
    return {
      ...openSession('primary'),
      withSession: (from: string) => {
        if (from === 'first-primary') return openSession('primary')
        // Sometimes another replica is nearer, or the primary.
        const target = random.chance(0.85) ? home : random.pick([...locations.keys(), 'primary' as const])
        return openSession(target)
      },
    } as never
  }

  return {
    createBinding,
    /** Runs SQL on the primary at once. */
    query: <Row extends unknown[]>(sql: string, ...params: unknown[]) => execute(primary, sql, params, true) as Row[],
    /** @param listen hears of each write, and returns the version of the catalog. */
    watch: (listen: () => number) => void (onWrite = listen),
    setSkewMs: (ms: number) => void (skewMs = ms),
    nowMs: () => clock.nowMs() + skewMs,
    restoredAtMs: () => restored.atMs,
    /** Time Travel: the primary is as it was. @param version of the catalog from now on. */
    restore(toMs: number, version: number): void {
      history = history.filter(({ atMs }) => atMs <= toMs)
      primary.close()
      primary = open(history)
      restored = { atMs: clock.nowMs(), version, count: restored.count + 1 }
    },
  }
}
