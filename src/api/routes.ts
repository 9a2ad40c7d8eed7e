// The paths of the API, in Hono's notation: the Worker serves them, and data points and `ops watch` have them as routes.
export const tokenPath = '/api/v3/partners/auth'
export const plansPath = '/api/v3/partners/:shortName/plans'

/** The route of a data point that the Worker's schedule writes to the usage dataset. */
export const scheduleName = 'schedule'

/** The name that `ops watch` prints for the answers of each path. */
export const answersByRoute: Readonly<Record<string, string>> = { [tokenPath]: 'Tokens', [plansPath]: 'Lists' }
