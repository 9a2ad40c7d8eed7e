// The Worker's table of contents: its middleware, its endpoints, and its answers to unknown paths and errors.
import { routePath } from 'hono/route'
import { NoSigningKeyError } from '../api/config.ts'
import { plansPath, tokenPath } from '../api/routes.ts'
import { StorageError } from '../db/database.ts'
import { ApiError } from './http/api-error.ts'
import { answerNotFound } from './http/not-found.ts'
import { createRoutes } from './http/create-routes.ts'
import type { AllowLine } from './http/line-budget.ts'
import { createRequestLog } from './http/request-log.ts'
import { requireHttps } from './http/require-https.ts'
import { describeError } from './log.ts'
import { createPlansEndpoint, type PlansDependencies } from './plans/plans-route.ts'
import { RateLimitError, ratePeriodSeconds } from './rate-limit.ts'
import { createTokenEndpoint, type TokenDependencies } from './token/token-route.ts'

export function createApp(isolate: { allowLine: AllowLine } & TokenDependencies & PlansDependencies) {
  return createRoutes()
    .use(createRequestLog(isolate.allowLine))
    .use(requireHttps)
    .route(tokenPath, createTokenEndpoint(isolate))
    .route(plansPath, createPlansEndpoint(isolate))
    .notFound(answerNotFound)
    .onError((error, c) => {
      const refusal = createRefusal(error)
      c.set('refusal', refusal)
      // -1: the route that matched last. Middleware matches before it.
      const isFromTokenEndpoint = routePath(c, -1) === tokenPath
      return refusal.toResponse(c, isFromTokenEndpoint)
    })
}

/** Turns any error of a request into the refusal that answers the request. */
function createRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof RateLimitError) {
    return new ApiError('rate_limited', { headers: { 'Retry-After': String(ratePeriodSeconds) } })
  }
  const reason = describeError(error)
  if (error instanceof StorageError || error instanceof NoSigningKeyError) {
    return new ApiError('unavailable', { reason, headers: { 'Retry-After': '5' } })
  }
  // A bug, or a mistake in the configuration: the log gets the stack, which says where.
  return new ApiError('internal_error', { reason: (error instanceof Error && error.stack) || reason })
}
