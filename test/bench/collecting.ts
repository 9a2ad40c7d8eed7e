// The Worker as deployed, with a request that collects garbage.
// @ts-expect-error -- the bundle is the module beside this one when it runs
import app from './app.js'

export default {
  async fetch(request, env, context) {
    if (request.method !== 'DELETE') return app.fetch(request, env, context)
    // With the flag --expose-gc.
    ;(globalThis as { gc?: () => void }).gc?.()
    return new Response(String('gc' in globalThis))
  },
} satisfies ExportedHandler
