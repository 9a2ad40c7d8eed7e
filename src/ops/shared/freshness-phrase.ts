// How soon partners see a change, for the texts of commands.
import { freshnessSeconds } from '../../api/promises.ts'

/** `2 minutes` */
export const freshness = `${freshnessSeconds / 60} minutes`
