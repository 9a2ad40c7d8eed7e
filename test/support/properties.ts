// Sets how many cases each property tries: vitest.config.ts has the numbers. A property with its own numRuns keeps it.
import fc from 'fast-check'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    propertyRuns: number
    propertySeed: number
    /** Whether `npm run test:slow` runs. */
    isSlow: boolean
  }
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: inject('propertyRuns'), seed: inject('propertySeed') })
