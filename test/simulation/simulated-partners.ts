// Partners, their secrets, and the commands that change them, and mark or delete their copies in KV.
import { getPartnerKey } from '../../src/api/cache-keys.ts'
import { hashSecret } from '../../src/crypto/client-secret.ts'
import type { PartnerAccess } from '../../src/db/client-queries.ts'
import type { OpenSession } from '../../src/worker/cache/cache-context.ts'
import type { CatalogHistory } from './catalog-history.ts'
import type { Outages } from './outages.ts'
import type { Random } from './random.ts'
import type { SimulatedRequest } from './simulated-isolate.ts'
import type { SimulatedKv } from './simulated-kv.ts'
import type { Poller } from './traffic.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** An isolate uses a young check for two minutes. The copy from before a mark is found for a minute in a city, and in an isolate. */
const forgetMs = 250_000
/** An isolate that froze can write what it read before a suspension. */
const maxWriteDelayMs = 5 * 60_000

/** Every secret that was ever made, by its hash. */
export type Secrets = Map<string, string>

export async function makePartner(secrets: Secrets, clientId: string, country: string): Promise<PartnerAccess> {
  const made = [{ hash: await makeSecret(secrets), expiresAt: null }]
  return { shortName: `of-${clientId}`, country, isSuspended: false, tokensValidFrom: null, secrets: made }
}

async function makeSecret(secrets: Secrets): Promise<string> {
  const secret = `secret${secrets.size}`
  const hash = await hashSecret(secret, 1)
  secrets.set(hash, secret)
  return hash
}

interface Options {
  clock: VirtualClock
  random: Random
  history: CatalogHistory
  outages: Outages
  kv: SimulatedKv
  secrets: Secrets
}

export type SimulatedPartners = ReturnType<typeof createSimulatedPartners>

export function createSimulatedPartners({ clock, random, history, outages, kv, secrets }: Options) {
  const suspensions = new Map<string, { atMs: number; isMarked: boolean }>()
  /** When an isolate last heard from D1 that a partner is active. */
  const activeAtMs = new Map<string, number>()

  let lastOrder = 0

  const find = (clientId: string): PartnerAccess => history.newest().partners.get(clientId)!

  /** @returns whether KV's copy was marked or deleted */
  function change(clientId: string, next: Partial<PartnerAccess>, isEnd = false): boolean {
    history.setPartner(clock.now(), clientId, next)
    const isKvUp = outages.kv(0) === 'up'
    if (isKvUp && isEnd) kv.mark(getPartnerKey(clientId), { shortName: `of-${clientId}`, endedAtMs: clock.now() })
    else if (isKvUp) kv.delete(getPartnerKey(clientId))
    return isKvUp
  }

  return {
    /** The secret that the partner uses: a new one arrives some time after it was made. Now and then it is an old one. */
    pickSecret: ({ clientId, handoverMs }: Poller): string => {
      const known = history.at(clock.now() - handoverMs).partners.get(clientId)!.secrets
      const { hash } = random.chance(0.02) ? known[0]! : known.at(-1)!
      return secrets.get(hash)!
    },

    /** The secret of a hash. */
    getSecret: (hash: string) => secrets.get(hash),

    /** The old secret works until the new one has arrived, or longer. */
    rotate: async ({ clientId, handoverMs }: Poller): Promise<void> => {
      const nowSeconds = Math.floor(clock.now() / 1000)
      const live = find(clientId).secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > nowSeconds)
      const graceSeconds = Math.ceil(handoverMs / 1000) + random.pick([60, 3600, 86_400])
      const endsAt = nowSeconds + (live.length > 1 ? 0 : graceSeconds)
      const older = live.map(({ hash, expiresAt }) => ({ hash, expiresAt: Math.min(expiresAt ?? endsAt, endsAt) }))
      const newest = { hash: await makeSecret(secrets), expiresAt: null }
      change(clientId, { secrets: [...older.filter(({ expiresAt }) => expiresAt > nowSeconds), newest] })
    },

    move: (clientId: string, country: string) => change(clientId, { country }),

    endTokens: (clientId: string) => change(clientId, { tokensValidFrom: Math.floor(clock.now() / 1000) + 1 }, true),

    suspend: (clientId: string): void => {
      const wasSuspended = find(clientId).isSuspended
      const isMarked = change(clientId, { isSuspended: true }, true)
      if (!wasSuspended) suspensions.set(clientId, { atMs: clock.now(), isMarked })
    },

    resume: (clientId: string): void => {
      suspensions.delete(clientId)
      change(clientId, { isSuspended: false })
    },

    /** A restore of the database ends and begins suspensions without a command. */
    forgetSuspensions: () => suspensions.clear(),

    /** Notices what isolates hear from D1. */
    watch:
      ({ isolate, isSignIn }: SimulatedRequest, openSession: OpenSession): OpenSession =>
      (from) => {
        const session = openSession(from)
        return {
          ...session,
          checkPartner: async (clientId) => {
            const order = ++lastOrder
            const check = await session.checkPartner(clientId)
            const answer = { access: formatAccess(check.partner), order, atMs: clock.now(), isSignIn }
            const answers = isolate.answers.get(clientId) ?? []
            isolate.answers.set(clientId, [...answers.slice(-9), answer])
            if (check.partner?.isSuspended === false) activeAtMs.set(clientId, clock.now())
            return check
          },
        }
      },

    /** Whether `access` is what D1 answered last before the request, or later. */
    isLastAnswer: ({ isolate, arrivedAtMs }: SimulatedRequest, clientId: string, access: PartnerAccess | undefined) => {
      const answers = isolate.answers.get(clientId) ?? []
      const earlier = answers.filter(({ atMs }) => atMs < arrivedAtMs)
      const last = Math.max(0, ...earlier.map(({ order }) => order))
      return answers.some(({ order, access: answered }) => order >= last && answered === formatAccess(access))
    },

    /** Whether no isolate may know any more that a partner was active. SECURITY.md says what can still know it. */
    mustBeForgotten: (clientId: string): boolean => {
      const suspension = suspensions.get(clientId)
      if (suspension?.isMarked !== true) return false
      const { atMs } = suspension
      return clock.now() > atMs + forgetMs && (activeAtMs.get(clientId) ?? 0) < atMs - maxWriteDelayMs
    },
  }
}

function formatAccess(partner: PartnerAccess | undefined): string {
  return partner ? `${partner.country} ${partner.isSuspended} ${partner.tokensValidFrom}` : ''
}
