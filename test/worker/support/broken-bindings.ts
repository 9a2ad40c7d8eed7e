// Stores that fail for the Worker of the test, until vi.restoreAllMocks().
import { env } from 'cloudflare:workers'
import { vi } from 'vitest'
import { interceptD1, interceptKv, type Fault, type KvFaults } from '../../support/unreliable-stores.ts'

export function breakD1(fault: Fault): void {
  const broken = interceptD1(env.DB, fault)
  vi.spyOn(env, 'DB', 'get').mockReturnValue(broken)
}

export function breakKv(faults: KvFaults): void {
  const broken = interceptKv(env.CATALOG_CACHE, faults)
  vi.spyOn(env, 'CATALOG_CACHE', 'get').mockReturnValue(broken)
}
