// Sets how many cases each property tries: 100, or 20,000 in npm run test:slow. A property with its own numRuns keeps it.
import fc from 'fast-check'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    propertyRuns: number
    /** Whether `npm run test:slow` runs. */
    isSlow: boolean
  }
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: inject('propertyRuns') })
