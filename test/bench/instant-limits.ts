// The Worker as deployed, with rate limits that allow everything at once. The local simulation of the two limits costs more
// than 1 ms of CPU, in the process that is measured.
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

const instant = { limit: async () => ({ success: true }) } satisfies RateLimit
const limits = { AUTH_ADDRESS_RATE_LIMIT: instant, AUTH_RATE_LIMIT: instant }
/** One object for all requests, as the Worker checks its configuration once per object. */
let limitless: object | undefined

export default {
  fetch: (request, env, context): Promise<Response> =>
    app.fetch(request, (limitless ??= { ...env, ...limits }), context),
} satisfies ExportedHandler<object>
