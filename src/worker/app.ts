// The table of contents: middleware, routes, and the answers to everything else.
import { routePath } from 'hono/route'
import { NoSigningKeyError } from '../api/config.ts'
import { plansRoute, tokenRoute } from '../api/routes.ts'
import { StorageError } from '../db/database.ts'
import { ApiError } from './http/api-error.ts'
import { answerNotFound } from './http/not-found.ts'
import { createRoutes } from './http/create-routes.ts'
import { createRequestLog, type LogDependencies } from './http/request-log.ts'
import { requireHttps } from './http/require-https.ts'
import { describeError } from './log.ts'
import { createPlansRoute, type PlansDependencies } from './plans/plans-route.ts'
import { RateLimitError, ratePeriodSeconds } from './rate-limit.ts'
import { createTokenRoute, type TokenDependencies } from './token/token-route.ts'

export function createApp(isolate: LogDependencies & TokenDependencies & PlansDependencies) {
  return createRoutes()
    .use(createRequestLog(isolate))
    .use(requireHttps)
    .route(tokenRoute, createTokenRoute(isolate))
    .route(plansRoute, createPlansRoute(isolate))
    .notFound(answerNotFound)
    .onError((error, c) => {
      const refusal = createRefusal(error)
      c.set('refusal', refusal)
      return refusal.toResponse(c, routePath(c, -1) === tokenRoute)
    })
}

const howToSetUp = 'Not set up: see "The first deploy" in src/worker/DEPLOY.md.'

function createRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof RateLimitError) {
    return new ApiError('rate_limited', { headers: { 'Retry-After': String(ratePeriodSeconds) } })
  }
  const reason = describeError(error)
  if (isNotSetUp(error)) return createUnavailable(`${howToSetUp} ${reason}`)
  if (error instanceof StorageError) return createUnavailable(reason)
  // A bug, whose stack says where, or a mistake in the configuration.
  return new ApiError('internal_error', { reason: (error instanceof Error && error.stack) || reason })
}

function createUnavailable(reason: string): ApiError {
  return new ApiError('unavailable', { reason, headers: { 'Retry-After': '5' } })
}

/** `wrangler deploy` alone makes an empty database, and no key. */
function isNotSetUp(error: unknown): boolean {
  return (
    error instanceof NoSigningKeyError || (error instanceof StorageError && error.message.includes('no such table'))
  )
}
