// A refusal, or no answer at all, as sentences that say what to do.
import { html } from 'hono/html'
import { advice, isErrorCode } from '../error-advice.ts'
import type { Markup } from '../page-shell.ts'

export interface Failure {
  message: string
  fix: string
  /** Status, code and request ID, as far as there are. */
  detail?: string
  /** The code, where it is a documented one. */
  code?: string
}

export const unreachable: Failure = {
  message: 'The API can’t be reached.',
  fix: 'Check your connection, then try again. If other sites load, tell support.',
}

export interface Refusal {
  status: number
  message: string | undefined
  code: string | undefined
  requestId: string | undefined
  retryAfterSeconds: number | undefined
}

export function describeRefusal({ status, message, code = '', requestId, retryAfterSeconds }: Refusal): Failure {
  const isKnown = isErrorCode(code)
  const wait = retryAfterSeconds === undefined ? '' : ` Wait ${retryAfterSeconds} seconds.`
  return {
    message: message ?? `The answer has status ${status}, and is not one of the API.`,
    fix: isKnown
      ? advice[code].fix + wait
      : 'Something between you and the API may have answered. Try again; if it persists, tell support.',
    detail: [`status ${status}`, isKnown && code, requestId && `request ${requestId}`].filter(Boolean).join(', '),
    ...(isKnown && { code }),
  }
}

export function renderFailure({ message, fix, detail, code }: Failure): Markup {
  return html`<div class="callout failure">
    <p><strong>${message}</strong></p>
    <p>${fix}</p>
    ${detail && html`<p class="detail">${detail}. ${code && html`<a href="/errors#${code}">More on ${code}</a>`}</p>`}
  </div>`
}
