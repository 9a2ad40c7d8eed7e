// The routes of the API. The Worker serves them, the usage dataset names them, and `ops watch` compares their failures with the
// target.
export const tokenRoute = '/api/v3/partners/auth'
export const plansRoute = '/api/v3/partners/:shortName/plans'

/** Stands in the dataset where a request has its route. */
export const scheduleName = 'schedule'

/** Every route, with the name of its answers. */
export const answersByRoute: Readonly<Record<string, string>> = { [tokenRoute]: 'Tokens', [plansRoute]: 'Lists' }
