// Explains a failed API call to the reader: what is wrong, and how to fix it.
import { html } from 'hono/html'
import { advice, isErrorCode } from '../blocks/error-advice.ts'
import { InvestmentPlansError } from '../client/investment-plans.mts'
import type { Markup } from '../page-shell.ts'

/** A response of the API also has its error code, and a detail. */
type ExplainedError = { message: string; fix: string; detail?: string; code?: string }

export function explainError(error: unknown): ExplainedError {
  if (!(error instanceof InvestmentPlansError))
    return { message: error instanceof Error ? error.message : String(error), fix: 'Correct it, then try again.' }
  const { status, code, requestId, retryAfterSeconds } = error
  if (status === undefined)
    return {
      message: 'The API can’t be reached.',
      fix: 'Check your connection, then try again. If other sites load, contact support.',
    }
  if (!isErrorCode(code))
    return {
      message: `The response has status ${status} and did not come from the API.`,
      fix: 'A proxy or network between you and the API may have sent it. Try again. If this continues, contact support.',
    }
  return {
    message: error.message,
    fix: advice[code].fix + (retryAfterSeconds === undefined ? '' : ` Wait ${retryAfterSeconds} seconds.`),
    detail: `status ${status}, ${code}, request ${requestId}`,
    code,
  }
}

export function renderError({ message, fix, detail, code }: ExplainedError): Markup {
  return html`<div class="callout failure">
    <p><strong>${message}</strong></p>
    <p>${fix}</p>
    ${code && html`<p class="detail">${detail}. <a href="/errors#${code}">More about ${code}</a></p>`}
  </div>`
}
