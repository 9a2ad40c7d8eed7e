// The paths of the API, in Hono's notation. The Worker serves these paths, the usage dataset has them as routes, and `ops watch` compares
// the failures of each path with the target.
export const tokenPath = '/api/v3/partners/auth'
export const plansPath = '/api/v3/partners/:shortName/plans'

/** The route of a data point that the Worker's schedule writes to the usage dataset. */
export const scheduleName = 'schedule'

/** The name that `ops watch` prints for the answers of each path. */
export const answersByRoute: Readonly<Record<string, string>> = { [tokenPath]: 'Tokens', [plansPath]: 'Lists' }
