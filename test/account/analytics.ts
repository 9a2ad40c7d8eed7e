// Workers Analytics Engine of the account: keeps data points in SQLite, and answers the SQL that this project asks.
import { DatabaseSync } from 'node:sqlite'
import { Refusal } from './api.ts'

interface DataPoint {
  indexes: string[]
  blobs: string[]
  doubles: number[]
}

export type Analytics = ReturnType<typeof createAnalytics>

const blobs = Array.from({ length: 20 }, (_, index) => `blob${index + 1}`)
const doubles = Array.from({ length: 20 }, (_, index) => `double${index + 1}`)
const columns = ['timestamp', '_sample_interval', 'index1', ...blobs, ...doubles]

export function createAnalytics() {
  const db = new DatabaseSync(':memory:')
  const tables = new Set<string>()
  const open = (dataset: string) => {
    if (!tables.has(dataset)) db.exec(`create table ${dataset} (${columns.join(', ')})`)
    tables.add(dataset)
  }
  db.aggregate('sumIf', {
    deterministic: true,
    start: 0,
    step: (sum: number, value, condition) => (condition ? sum + Number(value) : sum),
  })
  // The state is a list as JSON: level, value and weight of each point.
  db.aggregate('quantileExactWeighted', {
    deterministic: true,
    start: '[]',
    step: (state: string, level, value, weight) => JSON.stringify([...readPoints(state), [level, value, weight]]),
    result: (state: string) => {
      const points = readPoints(state).toSorted(([, a], [, b]) => a - b)
      let rest = (points[0]?.[0] ?? 0) * points.reduce((sum, [, , weight]) => sum + weight, 0)
      return points.find(([, , weight]) => (rest -= weight) <= 0)?.[1] ?? null
    },
  })
  return {
    /** Writes a data point. @param count how many points it stands for, because Analytics Engine samples. */
    write: (dataset: string, { indexes, blobs: texts, doubles: numbers }: DataPoint, time = new Date(), count = 1) => {
      open(dataset)
      const values = [
        count,
        indexes[0] ?? '',
        ...blobs.map((_, index) => texts[index] ?? ''),
        ...doubles.map((_, index) => numbers[index] ?? 0),
      ]
      const places = values.map(() => '?').join(', ')
      const seconds = Math.floor(time.getTime() / 1000)
      db.prepare(`insert into ${dataset} values (datetime(?, 'unixepoch'), ${places})`).run(seconds, ...values)
    },
    /** Makes all points older. */
    age: (seconds: number) => {
      for (const table of tables) {
        db.exec(`update ${table} set timestamp = datetime(timestamp, '-${seconds} seconds')`)
      }
    },
    /** @throws Refusal for SQL that it does not know, and for a dataset without a point. */
    query: (sql: string): Record<string, unknown>[] => {
      const [, dataset = ''] = / FROM (\w+) /.exec(sql) ?? []
      if (!tables.has(dataset)) throw new Refusal(422, 7000, 'unable to find type of column: timestamp')
      const translated = sql
        .replace(/ FORMAT JSON$/, '')
        .replaceAll(/NOW\(\) - INTERVAL '(\d+)' (MINUTE|HOUR|DAY)/g, "datetime('now', '-$1 $2')")
        .replaceAll('NOW()', "datetime('now')")
        .replaceAll('toUnixTimestamp(', 'unixepoch(')
        .replaceAll(/toDateTime\((\d+)\)/g, "datetime($1, 'unixepoch')")
        .replaceAll(/quantileExactWeighted\(([\d.]+)\)\(/g, 'quantileExactWeighted($1, ')
      try {
        return db.prepare(translated).all().map(quoteCounts)
      } catch (error) {
        throw new Refusal(422, 7000, String(error))
      }
    },
  }
}

function readPoints(state: string): [level: number, value: number, weight: number][] {
  return JSON.parse(state) as [number, number, number][]
}

/** Analytics Engine writes 64-bit integers as texts. */
function quoteCounts(row: Record<string, unknown>): Record<string, unknown> {
  const cells = Object.entries(row).map(([name, value]) => [name, Number.isInteger(value) ? String(value) : value])
  return Object.fromEntries(cells)
}
