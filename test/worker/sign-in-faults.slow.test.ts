// The fault matrix for the token endpoint, without the cache states that it treats alike.
import { faultMatrix, testSignInFaults } from './support/fault-matrix.ts'

testSignInFaults(faultMatrix.filter(({ cache: { name } }) => !/^(stale|old) in|^warm in KV/.test(name)))
