// Explains a failed API call to the reader: what is wrong, and how to fix it.
import { html } from 'hono/html'
import { advice, isErrorCode } from '../error-advice.ts'
import type { Markup } from '../page-shell.ts'

export interface Failure {
  message: string
  fix: string
  /** Status, error code and request ID, if known. */
  detail?: string
  /** The error code, if it is documented. */
  code?: string
}

export const unreachable: Failure = {
  message: 'The API can’t be reached.',
  fix: 'Check your connection, then try again. If other sites load, contact support.',
}

interface ErrorResponse {
  /** Undefined when there was no complete response. */
  status: number | undefined
  message: string | undefined
  code: string | undefined
  requestId: string | undefined
  retryAfterSeconds: number | undefined
}

export function describeRefusal({ status, message, code = '', requestId, retryAfterSeconds }: ErrorResponse): Failure {
  if (status === undefined) return unreachable
  const isKnown = isErrorCode(code)
  const wait = retryAfterSeconds === undefined ? '' : ` Wait ${retryAfterSeconds} seconds.`
  return {
    message: message ?? `The response has status ${status} and did not come from the API.`,
    fix: isKnown
      ? advice[code].fix + wait
      : 'A proxy or network between you and the API may have sent it. Try again. If this continues, contact support.',
    detail: [`status ${status}`, isKnown && code, requestId && `request ${requestId}`].filter(Boolean).join(', '),
    ...(isKnown && { code }),
  }
}

export function renderFailure({ message, fix, detail, code }: Failure): Markup {
  return html`<div class="callout failure">
    <p><strong>${message}</strong></p>
    <p>${fix}</p>
    ${detail && html`<p class="detail">${detail}. ${code && html`<a href="/errors#${code}">More about ${code}</a>`}</p>`}
  </div>`
}
