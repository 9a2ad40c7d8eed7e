// Says in messages how soon partners see a change of the catalog, and when a change of a partner takes effect.
import { freshnessSeconds } from '../../api/promises.ts'

/** `2 minutes` */
export const freshness = `${freshnessSeconds / 60} minutes`
