// Implements cache/catalog-source.ts on D1.
import type { OpenSession } from './cache/catalog-source.ts'
import { openDatabase } from '../db/database.ts'
import { queryD1 } from './query-d1.ts'
import { selectPartnerCheck } from '../db/partner-queries.ts'
import { selectPlanList } from '../db/plan-queries.ts'

export function createOpenSession(d1: D1Database): OpenSession {
  return (from) => {
    const session = d1.withSession(from === 'primary' ? 'first-primary' : 'first-unconstrained')
    return {
      checkPartner: (clientId) => queryD1(selectPartnerCheck(session, clientId)),
      loadList: async (country, filter) => {
        // Drizzle only prepares statements, which a session can do. Its type asks for a whole database.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion
        const db = openDatabase(session as unknown as D1Database)
        const { plans, revision } = await queryD1(selectPlanList(db, country, filter))
        const envelope = { message: 'Plans fetched successfully', data: { total: plans.length, plans } }
        const body = new TextEncoder().encode(JSON.stringify(envelope))
        return { body, isEmpty: plans.length === 0, revision }
      },
    }
  }
}
