// How the speed depends on the size of the catalog and on the number of partners.
import { planCounts, type Bench, type Country } from './bench-setup.ts'
import { runLoad } from './load.ts'
import { seedPartners } from './service.ts'
import type { Cost } from './slowed.ts'

export interface Growth {
  lists: { plans: number; bytes: number; memoryPerSecond: number; notModifiedPerSecond: number }[]
  tokens: { partners: number; perSecond: number; rowsRead: number }[]
}

const connections = 4

export async function measureGrowth(bench: Bench, seconds: number): Promise<Growth> {
  const lists: Growth['lists'] = []
  for (const [country, plans] of Object.entries(planCounts) as [Country, number][]) {
    const url = await bench.getListUrl(country)
    const headers = bench.partners[country].bearerHeaders
    const response = await fetch(url, { headers })
    const bytes = (await response.arrayBuffer()).byteLength
    const conditional = { ...headers, 'If-None-Match': response.headers.get('ETag') ?? '' }
    const memory = await runLoad({ url, headers, status: 200, connections }, seconds)
    const notModified = await runLoad({ url, headers: conditional, status: 304, connections }, seconds)
    lists.push({
      plans,
      bytes,
      memoryPerSecond: memory.requestsPerSecond,
      notModifiedPerSecond: notModified.requestsPerSecond,
    })
  }
  const tokens: Growth['tokens'] = []
  const post = { method: 'POST' as const, headers: { Authorization: bench.partners.KE.authorization } }
  for (const partners of [1, 1000, 100_000]) {
    await seedPartners(bench.d1, partners)
    const { requestsPerSecond } = await runLoad({ url: await bench.getTokenUrl(), status: 200, ...post }, seconds)
    const { rowsRead } = (await (await fetch(await bench.getTokenUrl('counted'), post)).json()) as Cost
    tokens.push({ partners, perSecond: requestsPerSecond, rowsRead })
  }
  return { lists, tokens }
}
