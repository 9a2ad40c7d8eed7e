// What a simulation measured: hit rates, round trips, I/O and cost.
/** Why a list has no token: 401, 503 because KV fails as well, 503 without a copy that has the secret, hung up. */
export type NoToken = 'refused' | 'bothFailed' | 'noCopy' | 'cancelled'

export type Meter = ReturnType<typeof createMeter>

export function createMeter() {
  return {
    /** Answered lists by where they came from. `outage`: an old copy while D1 failed. */
    lists: { memory: 0, kv: 0, d1: 0, outage: 0 },
    /** 401: the partner is suspended. */
    refused: 0,
    /** 503. */
    unavailable: 0,
    /** Clients that hung up, and requests whose isolate died. */
    cancelled: 0,
    /** Sign-ins that got a token. */
    tokens: 0,
    /** Lists that were not requested, because no token was to be had. */
    notSent: { refused: 0, bothFailed: 0, noCopy: 0, cancelled: 0 } satisfies Record<NoToken, number>,
    d1Queries: 0,
    d1Rows: 0,
    kvReads: 0,
    kvWrites: 0,
    /** Writes that KV refused with 429. */
    kvRefusals: 0,
    warnings: 0,
    /** Answered requests, sign-ins included, and how many of them have a line in the log. */
    requests: 0,
    logLines: 0,
    isolates: 0,
    catalogChanges: 0,
    outages: 0,
    restores: 0,
    /** Requests by round trips. */
    trips: createHistogram(),
    /** Requests by milliseconds from arrival to answer. */
    answerMs: createHistogram(),
  }
}

/** Counts whole numbers. */
function createHistogram() {
  const counts: number[] = []
  let total = 0
  return {
    add: (value: number) => {
      const index = Math.round(value)
      while (counts.length <= index) counts.push(0)
      counts[index] = counts[index]! + 1
      total++
    },
    count: () => total,
    /** @param share 0.5 for the median */
    quantile: (share: number) => {
      let seen = 0
      return counts.findIndex((count) => (seen += count) >= share * total && seen > 0)
    },
    max: () => counts.length - 1,
  }
}

/** Dollars per million, of the paid plan beyond what it includes, read on 2026-11-22. */
const prices = {
  requests: 0.3,
  'log lines': 0.6,
  'KV reads': 0.5,
  'KV writes': 5,
  'D1 rows': 0.001,
  'ms of CPU': 0.02,
}

/** Announced. Data points are not billed yet. */
const dataPointPrice = 0.25

/** Measured on loopback with npm run bench: a list from memory, and a token whose secret is new to the isolate. */
const cpuMs = { list: 0.1, token: 15 }

function computeDollarsPerMillionLists(meter: Meter): Record<string, number> {
  const lists = countLists(meter)
  const amounts = {
    requests: meter.requests,
    'log lines': meter.logLines + meter.warnings,
    'KV reads': meter.kvReads,
    'KV writes': meter.kvWrites,
    'D1 rows': meter.d1Rows,
    'ms of CPU': cpuMs.list * meter.trips.count() + cpuMs.token * meter.tokens,
  }
  const names = Object.keys(prices) as (keyof typeof prices)[]
  const dollars = names.map((name) => [name, (prices[name] * amounts[name]) / lists] as const)
  const sum = dollars.reduce((total, [, amount]) => total + amount, 0)
  const dataPoints = (dataPointPrice * meter.requests) / lists
  return { ...Object.fromEntries(dollars), 'in all': sum, 'with data points': sum + dataPoints }
}

export function countLists({ lists: { memory, kv, d1, outage } }: Meter): number {
  return memory + kv + d1 + outage
}

export function formatReport(title: string, meter: Meter, simulatedMs: number, realMs: number): string {
  const lists = countLists(meter)
  const share = (count: number) => `${((100 * count) / lists).toFixed(2)} %`
  const perList = (count: number) => (count / lists).toFixed(4)
  const { trips, answerMs } = meter
  const { refused, bothFailed, noCopy, cancelled } = meter.notSent
  const dollars = Object.entries(computeDollarsPerMillionLists(meter)).map(
    ([name, amount]) => `${name} ${amount.toFixed(2)}`,
  )
  const rows = [
    [
      'lists',
      `${lists}: memory ${share(meter.lists.memory)}, KV ${share(meter.lists.kv)}, D1 ${share(meter.lists.d1)}`,
    ],
    ['', `old copies while D1 failed ${share(meter.lists.outage)}`],
    ['other answers', `401 ${meter.refused}, 503 ${meter.unavailable}, cancelled ${meter.cancelled}`],
    [
      'sign-ins',
      `${meter.tokens}; lists not sent for want of a token: 401 ${refused}, 503 as D1 and KV failed ${bothFailed}, 503 without a copy ${noCopy}, cancelled ${cancelled}`,
    ],
    [
      'round trips',
      `p50 ${trips.quantile(0.5)}, p90 ${trips.quantile(0.9)}, p99 ${trips.quantile(0.99)}, max ${trips.max()}`,
    ],
    [
      'ms to answer',
      `p50 ${answerMs.quantile(0.5)}, p90 ${answerMs.quantile(0.9)}, p99 ${answerMs.quantile(0.99)}, max ${answerMs.max()}`,
    ],
    [
      'per list',
      `D1 queries ${perList(meter.d1Queries)}, D1 rows ${perList(meter.d1Rows)}, ` +
        `KV reads ${perList(meter.kvReads)}, KV writes ${perList(meter.kvWrites)} (429: ${meter.kvRefusals} of ${meter.kvWrites})`,
    ],
    ['$ per million', dollars.join(', ')],
    [
      'the world',
      `${meter.isolates} isolates, ${meter.catalogChanges} catalog changes, ${meter.restores} restores, ${meter.outages} outages`,
    ],
    [
      'speed',
      `${(simulatedMs / 86_400_000).toFixed(2)} days in ${(realMs / 1000).toFixed(1)} s: ` +
        `${Math.round(simulatedMs / realMs)} simulated seconds a second, ${Math.round((1000 * trips.count()) / realMs)} requests a second`,
    ],
  ]
  return [title, ...rows.map(([name, text]) => `  ${name!.padEnd(14)} ${text}`)].join('\n')
}
