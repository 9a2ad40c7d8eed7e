// Who polls, from where and how often: the shapes of traffic that the simulation reports on.
import type { CacheBounds } from '../../src/worker/cache/catalog-cache.ts'
import { cacheBounds } from '../../src/worker/isolate.ts'
import type { PlanFilter } from '../../src/catalog/plan-filters.ts'
import { pickFilter } from './catalog-history.ts'
import type { Random } from './random.ts'

const secondMs = 1000
const minuteMs = 60_000
const hourMs = 3600_000
export const dayMs = 24 * hourMs
export const weekMs = 7 * dayMs

/** Returns the time of the next poll, and how many requests it sends at once. */
export type Rhythm = (nowMs: number, random: Random) => { atMs: number; requests: number }

export interface Poller {
  clientId: string
  /** The city that its requests go to. */
  home: number
  /** A city that some of its requests go to, because it has servers there or because the network routes them there. */
  elsewhere: number
  elsewhereShare: number
  rhythm: Rhythm
  filters: PlanFilter[]
  /** The share of requests with a filter that selects nothing and is never repeated. */
  randomFilterShare: number
  tokenSeconds: number
  /** A new secret is used this long after it was made. */
  handoverMs: number
}

export interface Shape {
  name: string
  title: string
  durationMs: number
  cities: number
  planCount: number
  makePollers: (random: Random) => Poller[]
  isolates: {
    maxPerCity: number
    /** An isolate ends after about this long, even if it is busy. */
    meanLifetimeMs: number
    /** Each isolate ends when it is idle for longer than one of these. */
    maxIdleMs: readonly number[]
    /** Of each isolate. */
    meanFreezeIntervalMs: number
    bounds: CacheBounds
    /** The share of isolates with very little memory, in which the bounds are checked. */
    smallShare: number
  }
  hangUpShare: number
  /** The share of KV's writes that store something else. */
  garbledShare: number
  /** Mean times between events. */
  intervals: {
    catalogChangeMs: number
    countryMoveMs: number
    suspensionMs: number
    restoreMs: number
    outageMs: number
    rotationMs: number
    endOfTokensMs: number
  }
  /** Fails D1 everywhere, once. A minute before it, a partner can be suspended. */
  plannedOutage?: { afterMs: number; durationMs: number; suspendedClient?: string }
  /** 0: clocks are right. Otherwise each isolate's clock is wrong by up to this much, now and then. */
  maxClockStepMs: number
  meanOutageMs: number
  /** What must not happen in production: after a restore, revisions are used a second time. */
  reusesRevisions: boolean
}

/** Ordinary weeks: six catalog changes a day, an outage of ten minutes every two days. */
const ordinary = {
  planCount: 60,
  hangUpShare: 0.0002,
  garbledShare: 0.00001,
  intervals: {
    catalogChangeMs: 4 * hourMs,
    countryMoveMs: 10 * dayMs,
    suspensionMs: 2 * dayMs,
    restoreMs: 30 * dayMs,
    outageMs: 2 * dayMs,
    rotationMs: 10 * dayMs,
    endOfTokensMs: 10 * dayMs,
  },
  maxClockStepMs: 0,
  meanOutageMs: 10 * minuteMs,
  reusesRevisions: false,
}

/** Assumed, because Cloudflare doesn't say: idle isolates end within minutes or an hour. */
const ordinaryIsolates = {
  meanLifetimeMs: 12 * hourMs,
  maxIdleMs: [3 * minuteMs, 10 * minuteMs, 30 * minuteMs, hourMs],
  meanFreezeIntervalMs: 12 * hourMs,
  bounds: cacheBounds,
  smallShare: 0,
}

const few: Shape = {
  ...ordinary,
  name: 'few',
  title: '10 partners poll every 5 minutes from 3 cities',
  durationMs: 2 * weekMs,
  cities: 3,
  makePollers: (random) =>
    Array.from({ length: 10 }, (_, index) => makePoller(random, index, 3, pollEvery(5 * minuteMs, random))),
  isolates: { ...ordinaryIsolates, maxPerCity: 2 },
}

const many: Shape = {
  ...ordinary,
  name: 'many',
  title: '200 partners from 40 cities, each with a rhythm of its own',
  durationMs: weekMs,
  cities: 40,
  makePollers: (random) =>
    Array.from({ length: 200 }, (_, index) => makePoller(random, index, 40, pickRhythm(random, index))),
  isolates: { ...ordinaryIsolates, maxPerCity: 4 },
}

const flood: Shape = {
  ...ordinary,
  name: 'flood',
  title: 'one partner at 1,000 requests a second from one city',
  durationMs: 10 * minuteMs,
  cities: 1,
  makePollers: (random) => [makePoller(random, 0, 1, visitAtRate(1000))],
  isolates: { ...ordinaryIsolates, maxPerCity: 12 },
  intervals: { ...ordinary.intervals, catalogChangeMs: 3 * minuteMs },
}

/** Everything goes wrong all the time. For the rules, not for the figures. */
const storm: Shape = {
  name: 'storm',
  title: '30 partners from 6 cities while everything changes and fails',
  durationMs: 2 * weekMs,
  cities: 6,
  planCount: 40,
  makePollers: (random) => Array.from({ length: 30 }, (_, index) => makeStormPoller(random, index)),
  isolates: {
    maxPerCity: 3,
    meanLifetimeMs: 20 * hourMs,
    maxIdleMs: [minuteMs, 10 * minuteMs, hourMs, 3 * dayMs],
    meanFreezeIntervalMs: 30 * minuteMs,
    bounds: cacheBounds,
    smallShare: 0.3,
  },
  hangUpShare: 0.01,
  garbledShare: 0.05,
  intervals: {
    catalogChangeMs: 4 * minuteMs,
    countryMoveMs: 20 * minuteMs,
    suspensionMs: 15 * minuteMs,
    restoreMs: 12 * hourMs,
    outageMs: 2 * hourMs,
    rotationMs: 10 * minuteMs,
    endOfTokensMs: 30 * minuteMs,
  },
  maxClockStepMs: 15 * minuteMs,
  meanOutageMs: 12 * minuteMs,
  reusesRevisions: false,
}

/** Sign-in and lists must go on. Some partners list once a day, and their turn falls into the outage. */
const outage: Shape = {
  ...ordinary,
  name: 'outage',
  title: '41 partners from 6 cities, and D1 fails for six hours of the third day',
  durationMs: 3 * dayMs,
  cities: 6,
  garbledShare: 0,
  makePollers: (random) =>
    Array.from({ length: 40 }, (_, index) =>
      makePoller(random, index, 6, index < 10 ? pollDaily(random, 5) : pickRhythm(random, index)),
    ).concat({ ...makePoller(random, 40, 6, pollEvery(15 * minuteMs, random)), clientId: 'suspended' }),
  isolates: { ...ordinaryIsolates, maxPerCity: 3 },
  intervals: { ...ordinary.intervals, restoreMs: Infinity, outageMs: Infinity },
  plannedOutage: { afterMs: 2 * dayMs + 9 * hourMs, durationMs: 6 * hourMs, suspendedClient: 'suspended' },
}

export const shapes: Record<'few' | 'many' | 'flood' | 'outage' | 'storm', Shape> = { few, many, flood, outage, storm }

function makePoller(random: Random, index: number, cities: number, rhythm: Rhythm): Poller {
  return {
    clientId: `client${index}`,
    home: random.integer(cities),
    elsewhere: random.integer(cities),
    elsewhereShare: random.chance(0.2) ? 0.5 : 0.001,
    rhythm,
    // Most partners list everything.
    filters: random.chance(0.7) ? [{}] : [{}, pickFilter(random), pickFilter(random)],
    randomFilterShare: 0,
    tokenSeconds: 3600,
    handoverMs: hourMs,
  }
}

function makeStormPoller(random: Random, index: number): Poller {
  const rhythm =
    index < 4 ? pollDaily(random, 5) : index < 8 ? pollEvery(hourMs * 3, random) : pickRhythm(random, index)
  return {
    ...makePoller(random, index, 6, rhythm),
    elsewhereShare: random.pick([0.5, 0.05, 0.005, 0.001]),
    filters: [{}, pickFilter(random), pickFilter(random), pickFilter(random)],
    randomFilterShare: index % 7 === 0 ? 0.3 : 0.01,
    tokenSeconds: random.pick([600, 3600, 3600, 48 * 3600]),
    handoverMs: random.pick([secondMs, minuteMs, hourMs]),
  }
}

function pickRhythm(random: Random, index: number): Rhythm {
  if (index % 20 === 0) return pollDaily(random, 30)
  if (index % 10 === 1) return visitAtPageViews(120)
  return pollEvery(random.pick([minuteMs, 2 * minuteMs, 5 * minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs]), random)
}

/** A job of cron runs on the second, a timer of a process drifts. */
function pollEvery(intervalMs: number, random: Random): Rhythm {
  const isCron = random.chance(0.5)
  return (nowMs, nextRandom) =>
    isCron
      ? { atMs: nowMs - (nowMs % intervalMs) + intervalMs + nextRandom.between(0, 2 * secondMs), requests: 1 }
      : { atMs: nowMs + intervalMs + nextRandom.between(0, secondMs), requests: 1 }
}

/** A batch at a certain time of the day. */
function pollDaily(random: Random, requests: number): Rhythm {
  const timeOfDayMs = random.between(0, dayMs)
  return (nowMs, nextRandom) => {
    const todayMs = nowMs - (nowMs % dayMs) + timeOfDayMs
    const atMs = todayMs > nowMs + minuteMs ? todayMs : todayMs + dayMs
    return { atMs: atMs + nextRandom.between(0, 30 * secondMs), requests }
  }
}

/** One request for each of the customers' page views: many at noon, few at night. */
function visitAtPageViews(perHour: number): Rhythm {
  return (nowMs, random) => {
    const daylight = 1.05 - Math.cos((2 * Math.PI * (nowMs % dayMs)) / dayMs)
    return { atMs: nowMs + random.exponential(hourMs / (perHour * daylight)), requests: 1 }
  }
}

function visitAtRate(perSecond: number): Rhythm {
  return (nowMs, random) => ({ atMs: nowMs + random.exponential(secondMs / perSecond), requests: 1 })
}
