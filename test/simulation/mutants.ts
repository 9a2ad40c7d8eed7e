// Mistakes in the policy that the simulation must notice, as replacements in the text of the Worker's modules.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { RuleName } from './rules.ts'

interface Mutant {
  mistake: string
  /** Seen from src/worker/cache. */
  file: string
  replace: string
  by: string
  /** The traffic in which a rule notices it. Default: storm. */
  shape?: string
  /** The rules that can notice it. */
  caughtBy: readonly RuleName[]
}

export const mutants: Record<string, Mutant> = {
  'ten-minutes': {
    mistake: 'a check is used for ten minutes',
    file: 'freshness.ts',
    replace: 'staleWhileRevalidateMs = freshnessSeconds * 1000',
    by: 'staleWhileRevalidateMs = 600_000',
    caughtBy: ['fresh-list', 'fresh-access'],
  },
  'memory-unrevised': {
    mistake: 'a list in memory is served whatever its revision',
    file: 'plan-lists.ts',
    replace: 'if (found && !failure && d1.isNewest(found.list.revision))',
    by: "if (found && !failure && (found.tier === 'memory' || d1.isNewest(found.list.revision)))",
    caughtBy: ['fresh-list', 'honest-age'],
  },
  'kv-unrevised': {
    mistake: 'a list in KV is served whatever its revision',
    file: 'plan-lists.ts',
    replace: 'if (found && !failure && d1.isNewest(found.list.revision))',
    by: "if (found && !failure && (found.tier === 'kv' || d1.isNewest(found.list.revision)))",
    caughtBy: ['fresh-list', 'honest-age', 'no-step-back'],
  },
  'key-without-filters': {
    mistake: 'the key of a list lacks its filters',
    file: '../../api/cache-keys.ts',
    replace: '${country}:${formatFilter(filter)}`',
    by: '${country}:${formatFilter({})}`',
    caughtBy: ['right-list'],
  },
  'key-without-country': {
    mistake: 'the key of a list lacks its country',
    file: '../../api/cache-keys.ts',
    replace: '${country}:${formatFilter(filter)}`',
    by: '${country.slice(0, 0)}:${formatFilter(filter)}`',
    caughtBy: ['right-list'],
  },
  'three-days': {
    mistake: 'a list is served for 72 hours while D1 fails',
    file: 'freshness.ts',
    replace: 'staleIfErrorMs = staleIfErrorHours * 3600_000',
    by: 'staleIfErrorMs = 72 * 3600_000',
    caughtBy: ['too-old-list', 'outage-access'],
  },
  'copy-unsealed': {
    mistake: "the seal of a partner's copy in KV is not verified",
    file: 'kv-copies.ts',
    replace: 'if (await context.seal.verify(formatSealed(key, checkedAtMs, shortName, body), mac))',
    by: 'if (mac.length > 0)',
    caughtBy: ['outage-access', 'no-bug'],
  },
  'copy-from-memory': {
    mistake: "memory's check is written to KV again while D1 fails",
    file: 'partner-checks.ts',
    replace: 'const { copy, endedAtMs } = await readStored(context, clientId)',
    by: `const { copy, endedAtMs } = await readStored(context, clientId)
      if (check?.partner) {
        const refreshed = { partner: check.partner, checkedAtMs: context.nowMs }
        context.waitUntil(writePartnerCopy(context, clientId, refreshed))
      }`,
    shape: 'outage',
    caughtBy: ['suspension-holds'],
  },
  'clock-decides': {
    mistake: "D1's answer is thrown away when the clock stepped back",
    file: 'partner-checks.ts',
    replace: 'if (known?.check && known.check.order >= check.order) return known.check',
    by: 'if (known?.check && known.check.checkedAtMs > context.nowMs) return known.check',
    caughtBy: ['d1-wins', 'fresh-access'],
  },
  'refusal-forgotten': {
    mistake: "D1's answer to a sign-in that is refused does not replace an older check",
    file: 'partner-checks.ts',
    replace: 'if (clients.get(clientId)?.check) keep(context, clientId, check)',
    by: '',
    caughtBy: ['d1-wins', 'right-secret', 'outage-access'],
  },
  'tokens-live-on': {
    mistake: 'tokens that were ended are accepted',
    file: '../access/authenticate-bearer.ts',
    replace: 'if (iat < (tokensValidFrom ?? 0))',
    by: 'if (iat < 0 && tokensValidFrom)',
    caughtBy: ['ended-token'],
  },
  'secrets-live-on': {
    mistake: 'a secret is accepted after its end',
    file: '../token/authenticate-client.ts',
    replace: 'expiresAt === null || expiresAt > nowSeconds ? hash : []',
    by: 'expiresAt === null || nowSeconds > 0 ? hash : []',
    caughtBy: ['right-secret'],
  },
  'replica-decides': {
    mistake: 'a sign-in reads the nearest replica, which may lack a new secret',
    file: 'partner-checks.ts',
    replace: 'd1.readPrimary(context, (from) => from.checkPartner(clientId))',
    by: 'd1.readNearest(context, (from) => from.checkPartner(clientId), () => true)',
    caughtBy: ['no-wrong-401'],
  },
  'copy-decides': {
    mistake: 'a secret that an old copy lacks gets a 401',
    file: '../token/authenticate-client.ts',
    replace: "if (decision.kind !== 'refused') return decision",
    by: "if (decision.kind !== 'refused' || !isPaused) return decision",
    caughtBy: ['no-wrong-401'],
  },
  'no-copy-for-sign-in': {
    mistake: 'a sign-in has no use for copies',
    file: 'catalog-cache.ts',
    replace: 'decideByCopy({ ...copy, isOld: true, accept }, isPaused)',
    by: 'decideByCopy({ ...copy, partner: undefined, isOld: true, accept }, isPaused)',
    caughtBy: ['no-needless-503'],
  },
  'unequal-sessions': {
    mistake: 'a lagging replica is believed',
    file: 'd1-state.ts',
    replace: 'nearest.revision === newestRevision && isAsNew(nearest) ? nearest',
    by: 'nearest.revision <= newestRevision ? nearest',
    caughtBy: ['no-step-back', 'fresh-list', 'honest-age'],
  },
  'endless-pause': {
    mistake: 'after a failure D1 is not asked for ten minutes',
    file: 'freshness.ts',
    replace: 'outagePauseMs = 10_000',
    by: 'outagePauseMs = 600_000',
    caughtBy: ['only-in-outage'],
  },
  'no-takeover': {
    mistake: 'a waiter waits for the work of a cancelled request for ever',
    file: 'shared-work.ts',
    replace: "const timer = setTimeout(() => resolve('abandoned'), maxWaitMs)",
    by: 'const timer = setTimeout(() => {}, maxWaitMs)',
    caughtBy: ['answers-in-time'],
  },
  'unbounded-memory': {
    mistake: 'the memory of lists evicts nothing',
    file: 'list-memory.ts',
    replace: 'if (heldBytes <= maxBytes) return',
    by: 'if (heldBytes > 0) return',
    caughtBy: ['bounded-memory'],
  },
}

/** Every module of the Worker that is imported from now on has the mistake in it. */
export function installMutant(name: string): void {
  const mutant = mutants[name]
  if (mutant === undefined) throw new Error(`no mutant ${name}: there are ${Object.keys(mutants).join(', ')}`)
  const { file, replace, by } = mutant
  const path = join(import.meta.dirname, '../../src/worker/cache', file)
  if (readFileSync(path, 'utf8').split(replace).length !== 2) {
    throw new Error(`the mutant ${name} does not fit ${file} any more: write it anew in mutants.ts`)
  }
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context)
      if (url !== pathToFileURL(path).href) return loaded
      return { ...loaded, source: readFileSync(path, 'utf8').replace(replace, () => by) }
    },
  })
}
