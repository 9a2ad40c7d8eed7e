// What happens to the catalog, to partners, to stores and to clocks, at random times.
import { countries, type CatalogHistory } from './catalog-history.ts'
import type { Outages } from './outages.ts'
import type { Random } from './random.ts'
import type { Meter } from './report.ts'
import type { SimulatedPartners } from './simulated-partners.ts'
import type { Poller, Shape } from './traffic.ts'
import type { VirtualClock } from './virtual-clock.ts'

interface Options {
  clock: VirtualClock
  random: Random
  history: CatalogHistory
  outages: Outages
  partners: SimulatedPartners
  meter: Meter
  shape: Shape
  clientIds: readonly string[]
  getPoller: (clientId: string) => Poller
  onRotation: (clientId: string) => void
}

const minuteMs = 60_000

/** Operators need the primary database, like everybody who writes. */
export function startOperating(options: Options): void {
  const { clock, random, history, outages, partners, meter, shape, clientIds, getPoller, onRotation } = options
  const { intervals, plannedOutage } = shape

  function repeat(meanMs: number, action: () => void): void {
    clock.at(clock.now() + random.exponential(meanMs), () => {
      action()
      repeat(meanMs, action)
    })
  }

  const repeatChange = (meanMs: number, action: (clientId: string) => unknown) =>
    repeat(meanMs, () => {
      if (outages.isPrimaryUp()) action(random.pick(clientIds))
    })

  const changeCatalog = (): void => {
    if (!outages.isPrimaryUp()) return
    meter.catalogChanges++
    history.changeCatalog(clock.now())
    // Corrections often follow within seconds.
    if (random.chance(0.3)) clock.at(clock.now() + random.exponential(15_000), changeCatalog)
  }

  repeat(intervals.catalogChangeMs, changeCatalog)
  repeatChange(intervals.countryMoveMs, (clientId) => partners.move(clientId, random.pick(countries)))
  repeatChange(intervals.rotationMs, (clientId) =>
    partners.rotate(getPoller(clientId)).then(() => onRotation(clientId)),
  )
  repeatChange(intervals.endOfTokensMs, (clientId) => partners.endTokens(clientId))
  repeatChange(intervals.suspensionMs, (clientId) => {
    partners.suspend(clientId)
    const resume = () => {
      if (outages.isPrimaryUp()) partners.resume(clientId)
      else clock.at(clock.now() + minuteMs, resume)
    }
    clock.at(clock.now() + random.exponential(10 * minuteMs), resume)
  })
  repeatChange(intervals.restoreMs, () => {
    meter.restores++
    partners.forgetSuspensions()
    history.restore(clock.now(), clock.now() - random.exponential(60 * minuteMs))
  })
  repeat(intervals.outageMs, () => {
    meter.outages++
    outages.start()
  })
  if (plannedOutage) {
    const { afterMs, durationMs, suspendedClient } = plannedOutage
    if (suspendedClient !== undefined) {
      clock.at(clock.now() + afterMs - minuteMs, () => partners.suspend(suspendedClient))
    }
    clock.at(clock.now() + afterMs, () => {
      meter.outages++
      outages.failEverywhere('d1', durationMs)
    })
  }
}
