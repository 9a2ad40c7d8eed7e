// D1 over node:sqlite: a primary, a replica in each location that lags behind, failures, hangs, and Time Travel. The primary keeps the
// changeset of each write: replicas apply it later, and Time Travel makes an earlier database from the changesets.
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { describeError, migrations } from '../ops/support/memory-bindings.ts'
import { createRandom } from './random.ts'
import type { Town } from './journal.ts'
import { locations, type Condition, type Path, type Weather } from './weather.ts'

interface Write {
  atMs: number
  changeset: Uint8Array
  /** The version of the catalog after the write: an index of `versions` in record.ts. */
  version: number
}

/** Who calls D1, with functions that learn how each call went. */
export interface Caller {
  path: Path
  /** A call fails now or later, or had no answer within 5 s. */
  onFailure: () => void
  /** @param version of the catalog in the answer. */
  onAnswer: (version: number) => void
}

/** The index of a replica, or the primary. */
type Target = number | 'primary'
/** What becomes of a call. `lost`: it has its effect, and its caller gets an error. `hung`: its caller never gets an answer. */
type Fate = 'answered' | 'refused' | 'lost' | 'hung'

export type D1World = ReturnType<typeof createD1World>

/** As the deadline of the Worker. */
const deadlineMs = 5000
const maxParameters = 100
const isWrite = /\b(?:insert into|update|delete from)\b/i
const fates: Record<Condition, Fate[]> = {
  fine: ['answered'],
  slow: ['answered'],
  flaky: ['answered', 'answered', 'refused', 'lost', 'hung'],
  failing: ['refused'],
  hanging: ['hung'],
}

export function createD1World({ clock, weather, seed }: Town & { weather: Weather }) {
  const random = createRandom(`${seed} d1`)
  let history: Write[] = []
  /** The histories that Time Travel replaced, each with the time of its replacement. */
  const replacedHistories: { untilMs: number; writes: Write[] }[] = []
  const restored = { atMs: -Infinity, version: 0, count: 0 }
  let onWrite = (): number => 0

  /** Creates a database with these writes. */
  function open(writes: readonly Write[] = []) {
    const database = new DatabaseSync(':memory:')
    database.function('unixepoch', { varargs: true }, (...args) =>
      args.includes('subsec') ? clock.nowMs() / 1000 : Math.floor(clock.nowMs() / 1000),
    )
    // The migration names the catalog at random. Each copy of the database has the same name.
    database.function('randomblob', () => new Uint8Array(8))
    for (const migration of migrations) database.exec(migration)
    for (const { changeset } of writes) database.applyChangeset(changeset)
    return database
  }

  let primary = open()
  const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>()
  const replicas = locations.map(() => ({ database: open(), applied: 0, version: 0, restores: 0 }))

  /** Runs a statement at once, without lag or failure, and keeps what it changed. @param asArrays or else each row is an object. */
  function execute(database: DatabaseSync, sql: string, params: readonly unknown[], asArrays: boolean): unknown[] {
    if (params.length > maxParameters) throw new Error('too many SQL variables')
    const isChange = isWrite.test(sql)
    if (isChange && database !== primary) throw new Error('attempt to write a readonly database')
    const session = isChange ? database.createSession() : undefined
    try {
      const statements = prepared.get(database) ?? new Map<string, StatementSync>()
      prepared.set(database, statements)
      const statement = statements.get(sql) ?? database.prepare(sql)
      statements.set(sql, statement)
      statement.setReturnArrays(asArrays)
      return statement.all(...(params as SQLInputValue[]))
    } catch (error) {
      throw describeError(error)
    } finally {
      const changeset = session?.changeset() ?? new Uint8Array()
      session?.close()
      if (changeset.length > 0) {
        const write = { atMs: clock.nowMs(), changeset, version: 0 }
        history.push(write)
        write.version = onWrite()
      }
    }
  }

  /** Applies the writes to a replica that are older than its lag. */
  function catchUp(index: number) {
    const replica = replicas[index]
    if (replica === undefined) throw new Error('no such replica')
    const untilMs = clock.nowMs() - weather.lagOf(index)
    if (replica.restores < restored.count && restored.atMs <= untilMs) {
      const writes = history.filter(({ atMs }) => atMs <= restored.atMs)
      replica.database.close()
      Object.assign(replica, {
        database: open(writes),
        applied: writes.length,
        version: restored.version,
        restores: restored.count,
      })
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

  function run(target: Target, sql: string, params: readonly unknown[], asArrays: boolean) {
    const { database, version } =
      target === 'primary'
        ? { database: primary, version: Math.max(restored.version, history.at(-1)?.version ?? 0) }
        : catchUp(target)
    return { rows: execute(database, sql, params, asArrays), version }
  }

  /** Runs a statement with the delay and the failures of the weather. */
  async function call(
    { path, onFailure, onAnswer }: Caller,
    target: Target,
    ...statement: [sql: string, params: readonly unknown[], asArrays: boolean]
  ) {
    const condition = weather.conditionOf(target === 'primary' ? 'primary' : 'd1', path)
    const fate = random.pick(fates[condition])
    const [least, most] = condition === 'slow' ? [300, 4500] : target === 'primary' ? [20, 120] : [2, 15]
    const halfMs = random.between(least, most) / 2
    // While a call hangs, other requests may already use copies.
    if (fate !== 'answered') onFailure()
    const failure = clock.after(deadlineMs, onFailure)
    await clock.sleep(halfMs)
    const isRun = fate === 'answered' || fate === 'lost' || (fate === 'hung' && random.chance(0.3))
    const answer = isRun ? run(target, ...statement) : undefined
    if (fate === 'hung') return new Promise<never>(() => {})
    await clock.sleep(halfMs)
    failure.act = undefined
    if (fate === 'answered' && answer) {
      onAnswer(answer.version)
      return answer.rows
    }
    onFailure()
    throw new Error('D1_ERROR: Network connection lost.')
  }

  /** Creates a binding as the Worker has it. @param home the index of the nearest replica. */
  function createBinding(caller: Caller, home: number): D1Database {
    const openSession = (target: Target) => {
      const prepare = (sql: string, params: unknown[] = []): object => {
        const all = async () => ({ success: true, meta: {}, results: await call(caller, target, sql, params, false) })
        const bind = (...values: unknown[]) => prepare(sql, values)
        return { bind, all, run: all, raw: () => call(caller, target, sql, params, true) }
      }
      return { prepare }
    }
    const withSession = (from: string) => {
      // Sometimes another replica is nearer, or the primary.
      const nearest = () => (random.chance(0.85) ? home : random.pick([...locations.keys(), 'primary' as const]))
      return openSession(from === 'first-primary' ? 'primary' : nearest())
    }
    return { ...openSession('primary'), withSession } as never
  }

  return {
    createBinding,
    /** Runs SQL on the primary at once. */
    query: <Row extends unknown[]>(sql: string, ...params: unknown[]) => execute(primary, sql, params, true) as Row[],
    /** @param listen is called after each write, and returns the version of the catalog. */
    watch: (listen: () => number) => void (onWrite = listen),
    restoredAtMs: () => restored.atMs,
    /**
     * Time Travel: makes the primary as it was at a time, also at a time that an earlier Time Travel took back.
     * @param version the new version of the catalog.
     */
    restore(toMs: number, version: number): void {
      const { writes } = replacedHistories.find(({ untilMs }) => toMs < untilMs) ?? { writes: history }
      replacedHistories.push({ untilMs: clock.nowMs(), writes: history })
      history = writes.filter(({ atMs }) => atMs <= toMs)
      primary.close()
      primary = open(history)
      Object.assign(restored, { atMs: clock.nowMs(), version, count: restored.count + 1 })
    },
  }
}
