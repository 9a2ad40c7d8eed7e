// Experiments with the deployed service: what stands between a partner and the Worker, and how versions and secrets behave.
import { freshnessSeconds } from '../../api/promises.ts'
import { readPath } from '../../json.ts'
import type { Call } from '../store/cloudflare-api.ts'
import type { SmokeOutcome } from '../core/smoke-test.ts'
import { alerts, usageQueries } from '../core/usage-queries.ts'
import { CloudflareError } from '../store/failure.ts'
import { openUsageDataset } from '../store/usage-dataset.ts'
import { freshness } from '../shared/freshness-phrase.ts'
import type { Target } from '../shared/target.ts'
import { conclude, type Experiment } from './experiment.ts'
import { send, type Reply, type Service, type Wait } from './measurements.ts'

export interface ServiceLab {
  call: Call
  worker: string
  service: Service
  smoke: SmokeOutcome
  /** The first token request of a partner. */
  firstToken: Reply
  token: string
  waits: readonly Wait[]
}

const project = 'this project’s promise'
const cloudflare = 'Cloudflare’s documentation'

export const versionHeader = 'X-Worker-Version'

export const serviceExperiments: Experiment<ServiceLab>[] = [
  {
    assumption: 'Workers allow PBKDF2 with 100,000 iterations.',
    source: 'issues of cloudflare/workerd',
    experiment: 'The first token of a partner.',
    run: async ({ firstToken: { status, ms } }) =>
      conclude(status === 200, `Status ${status} after ${Math.round(ms)} ms.`),
  },
  {
    assumption: 'The service works at Cloudflare as in the local runtime.',
    source: project,
    experiment: 'The smoke test, which also asks as Python’s urllib.',
    run: async ({ smoke }) =>
      conclude(smoke === 'passed', `The smoke test ${smoke}${smoke === 'passed' ? '' : ': see the terminal'}.`),
  },
  {
    assumption: 'Python’s urllib reaches the Worker at workers.dev: Browser Integrity Check is a setting of a zone.',
    source: `${cloudflare}; unknown for workers.dev`,
    experiment: 'A request with the User-Agent Python-urllib/3.13.',
    run: async ({ service }) => {
      const { status, body, headers } = await send(`${service.api}/any/plans`, {
        headers: { 'User-Agent': 'Python-urllib/3.13' },
      })
      const isOurs = headers.has('X-Request-Id')
      const end = /error code: \d+/.exec(body)?.[0] ?? 'an answer that is not ours'
      return conclude(isOurs, isOurs ? `The Worker answered with ${status}.` : `Status ${status}, ${end}.`)
    },
  },
  {
    assumption: 'Cloudflare compresses lists, and 304 works with the ETag that the client then gets.',
    source: cloudflare,
    experiment: 'Content-Encoding and ETag of a list, then If-None-Match.',
    run: async ({ service, token }) => {
      const list = await service.list(token)
      const etag = list.headers.get('ETag') ?? ''
      const encoding = list.headers.get('Content-Encoding') ?? 'none'
      const { status } = await service.list(token, { 'If-None-Match': etag })
      const strength = etag.startsWith('W/') ? 'weak' : 'strong'
      const found = `Content-Encoding: ${encoding}; the ETag is ${strength}; the second request got ${status}.`
      return conclude(encoding !== 'none' && status === 304, found)
    },
  },
  {
    assumption: `A publication is visible within ${freshness}.`,
    source: project,
    experiment: 'Lists, once a second, after a plan was closed.',
    run: async ({ waits }) => concludeWait(waits, 'publish to visible'),
  },
  {
    assumption: `Tokens of a suspended partner are refused within ${freshness}.`,
    source: project,
    experiment: 'Lists with its token, once a second, after a suspension.',
    run: async ({ waits }) => concludeWait(waits, 'suspend to refused'),
  },
]

export interface RollbackLab extends ServiceLab {
  /** The version that is live again, and the later one that is not. */
  live: string
  latest: string
  /** The key that was made between them. */
  laterKid: string
  target: Target
}

export const rollbackExperiments: Experiment<RollbackLab>[] = [
  {
    assumption: 'A new version gives every answer that one machine gets within a minute, and each names it.',
    source: cloudflare,
    experiment: 'Lists, five a second, after a deploy and after a rollback.',
    run: async ({ waits }) => {
      const spread = waits.filter(({ what }) => what.endsWith(' to the only version'))
      const isQuick = spread.every(({ settledMs }) => settledMs !== undefined && settledMs <= 60_000)
      return conclude(isQuick, spread.map(formatWait).join(' '))
    },
  },
  {
    assumption: 'A version override that names no deployed version has no effect.',
    source: cloudflare,
    experiment: 'A request that asks for the version that was rolled back.',
    run: async ({ service, token, worker, latest, live }) => {
      const override = { 'Cloudflare-Workers-Version-Overrides': `${worker}="${latest}"` }
      const { headers, status } = await service.list(token, override)
      const version = headers.get(versionHeader)
      return conclude(version === live, `Status ${status}, by the ${version === live ? 'live' : 'other'} version.`)
    },
  },
  {
    assumption: 'After a rollback, the list of secrets is the one of the latest version, not of the live one.',
    source: 'wrangler’s source',
    experiment: 'Both lists, after a key was added between the versions.',
    run: async ({ call, worker, live, laterKid }) => {
      const script = `/workers/scripts/${worker}`
      const has = (list: unknown) =>
        Array.isArray(list) && list.some((one) => String(readPath(one, 'name')).endsWith(laterKid))
      const inList = has(await call('GET', `${script}/secrets`))
      const inLive = has(readPath(await call('GET', `${script}/versions/${live}`), 'resources', 'bindings'))
      const found = `The list ${inList ? 'has' : 'lacks'} the key, the live version ${inLive ? 'has' : 'lacks'} it.`
      return conclude(inList && !inLive, found)
    },
  },
  {
    assumption: 'After a rollback, a change of secrets is refused (10214 or 10215) until the next deploy.',
    source: 'wrangler’s source',
    experiment: 'A secret that nothing reads.',
    run: async ({ call, worker }) => {
      try {
        const secret = { name: 'PROOF', text: 'proof', type: 'secret_text' }
        await call('PUT', `/workers/scripts/${worker}/secrets`, secret)
        return conclude(false, 'It was allowed.')
      } catch (error) {
        if (!(error instanceof CloudflareError)) throw error
        const isExpected = error.codes.some((code) => code === 10214 || code === 10215)
        return conclude(isExpected, `${error.message} Code ${error.codes.join(', ')}.`)
      }
    },
  },
  {
    assumption: 'Analytics Engine takes the queries of `watch`, and counts every request within minutes.',
    source: cloudflare,
    experiment: 'Each query, if the token has Account Analytics Read.',
    run: async ({ target }) => {
      const query = await openUsageDataset(target)
      for (const { write } of usageQueries.values()) await query(write)
      const [row] = (await query(alerts.traffic.write)) ?? []
      const requests = Number(row?.['requests'] ?? 0)
      return conclude(requests > 0, `${usageQueries.size} queries were answered, and ${requests} requests are counted.`)
    },
  },
]

export function formatWait({ what, firstMs, settledMs, boundMs }: Wait): string {
  const [first, settled, bound] = [firstMs, settledMs, boundMs].map((ms = 0) => `${(ms / 1000).toFixed(1)} s`)
  if (firstMs === undefined) return `${what}: not within ${bound}.`
  const end = settledMs === undefined ? `not in every answer within ${bound}` : `in every answer after ${settled}`
  return `${what}: first after ${first}, ${end}.`
}

function concludeWait(waits: readonly Wait[], name: string) {
  const wait = waits.find(({ what }) => what === name)
  if (wait === undefined) throw new Error('it was not measured')
  return conclude(wait.settledMs !== undefined && wait.settledMs <= freshnessSeconds * 1000, formatWait(wait))
}
