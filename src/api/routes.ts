// The paths of the API, as Hono writes them. The Worker serves them, the usage dataset names them as routes, and `ops watch` compares
// their failures with the target.
export const tokenPath = '/api/v3/partners/auth'
export const plansPath = '/api/v3/partners/:shortName/plans'

/** The name of the Worker's schedule in the usage dataset, where a request has its route. */
export const scheduleName = 'schedule'

/** The name that `ops watch` prints for the answers of each path. */
export const answersByRoute: Readonly<Record<string, string>> = { [tokenPath]: 'Tokens', [plansPath]: 'Lists' }
