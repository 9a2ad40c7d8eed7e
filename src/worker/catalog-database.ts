// What the cache reads, on D1.
import type { OpenSession } from './cache/catalog-source.ts'
import { queryD1 } from './query-d1.ts'
import { selectPartnerCheck } from '../db/partner-queries.ts'
import { selectPlanList } from '../db/plan-queries.ts'

export function createOpenSession(d1: D1Database): OpenSession {
  return (from) => {
    const session = d1.withSession(from === 'primary' ? 'first-primary' : 'first-unconstrained')
    return {
      checkPartner: (clientId) => queryD1(selectPartnerCheck(session, clientId)),
      loadList: async (country, filter) => {
        const { plans, revision } = await queryD1(selectPlanList(session, country, filter))
        const envelope = { message: 'Plans fetched successfully', data: { total: plans.length, plans } }
        const body = new TextEncoder().encode(JSON.stringify(envelope))
        return { body, isEmpty: plans.length === 0, revision }
      },
    }
  }
}
