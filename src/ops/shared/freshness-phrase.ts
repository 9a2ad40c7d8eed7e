// The longest time until partners see a change of the catalog, or a change of a partner takes effect, for messages.
import { freshnessSeconds } from '../../api/promises.ts'

/** `2 minutes` */
export const freshness = `${freshnessSeconds / 60} minutes`
