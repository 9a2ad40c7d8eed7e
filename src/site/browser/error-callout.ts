// Explains a failed API call: what is wrong, and how to fix it.
import { html } from 'hono/html'
import { advice, isErrorCode } from '../blocks/error-advice.ts'
import { InvestmentPlansError } from '../client/investment-plans.mts'
import type { Markup } from '../page-shell.ts'

export function renderError(error: unknown): Markup {
  const message = error instanceof Error ? error.message : String(error)
  // The client refuses a wrong value of the form with another error, before it sends a request.
  if (!(error instanceof InvestmentPlansError)) return renderCallout(message, 'Correct the value, then try again.')
  const { status, code, requestId, retryAfterSeconds } = error
  // Codes of the client, such as `timeout`: there was no complete response of the service.
  if (!isErrorCode(code))
    return renderCallout(message, 'Check your connection, then try again. If other sites load, contact support.')
  const waitAdvice = retryAfterSeconds === undefined ? '' : ` Wait ${retryAfterSeconds} seconds.`
  const detail = html`status ${status}, ${code}, request ${requestId}. <a href="/errors#${code}">More about ${code}</a>`
  return renderCallout(message, advice[code].fix + waitAdvice, detail)
}

function renderCallout(message: string, fix: string, detail?: Markup): Markup {
  return html`<div class="callout failure">
    <p><strong>${message}</strong></p>
    <p>${fix}</p>
    ${detail && html`<p class="detail">${detail}</p>`}
  </div>`
}
