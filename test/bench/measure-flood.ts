// How a partner's list fares while attackers try wrong secrets, with and without the rate limits.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from './bench-setup.ts'
import { runLoad, type Sample } from './load.ts'

export interface Flood {
  alone: Sample
  unlimited: { list: Sample; attackers: Sample }
  limited: { list: Sample; attackers: Sample }
}

const attackers = 16
/** By then the rate limit has let the first hundred attempts of the minute pass, and refuses the rest. */
const warmUpSeconds = 5

export async function measureFlood(bench: Bench, seconds: number): Promise<Flood> {
  const measureList = async (worker: string) =>
    runLoad(
      { url: await bench.getListUrl('KE', worker), headers: bench.partners.KE.bearerHeaders, status: 200 },
      seconds,
    )
  const attack = async (worker: string) => {
    const authorization = `Basic ${btoa(`${crypto.randomUUID()}:wrong`)}`
    const target = { url: await bench.getTokenUrl(worker), headers: { Authorization: authorization } }
    const flood = runLoad({ ...target, method: 'POST', connections: attackers }, warmUpSeconds + seconds)
    await sleep(1000 * warmUpSeconds)
    return { list: await measureList(worker), attackers: await flood }
  }
  return { alone: await measureList('app'), unlimited: await attack('app'), limited: await attack('limited') }
}
