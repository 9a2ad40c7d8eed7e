// Answers a path that is neither a route nor a file of the site.
import type { Context } from 'hono'
import { ApiError } from './api-error.ts'
import { createCommonHeaders, type AppEnv } from '../app-env.ts'

/** True for `/api` and the paths below it, also with a wrong case or too many slashes before it, such as `//API/v3`. */
export function isApiPath(path: string): boolean {
  return /^\/+api(?:\/|$)/i.test(path)
}

/** Answers with a 404 in JSON, and stores the refusal for the log line. A browser that asks for a path outside the API gets the site's page. */
export async function answerNotFound(c: Context<AppEnv>): Promise<Response> {
  const refusal = new ApiError('not_found')
  c.set('refusal', refusal)
  // Browsers name this type first. HTTP libraries send `*/*` or a type of JSON.
  const isBrowser = /^text\/html/i.test(c.req.header('Accept') ?? '')
  if (isApiPath(c.req.path) || !isBrowser) return refusal.toResponse(c)
  const { body, headers } = await c.env.ASSETS.fetch(new URL('/404', c.req.url))
  const page = new Response(body, { status: 404, headers })
  const ownHeaders = { ...createCommonHeaders(c), 'Cache-Control': 'no-store' }
  for (const [name, value] of Object.entries(ownHeaders)) page.headers.set(name, value)
  return page
}
