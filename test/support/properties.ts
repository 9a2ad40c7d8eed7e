// How many cases each property tries: as many as npm run test:fuzz says, else what fast-check takes for enough.
import fc from 'fast-check'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    propertyRuns: number
  }
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: inject('propertyRuns') })
