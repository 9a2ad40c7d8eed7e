// A refusal, or no answer at all, as sentences that say what to do.
import { html } from 'hono/html'
import { advice, isErrorCode } from '../advice.ts'
import type { Markup } from '../page.ts'

export interface Failure {
  message: string
  mend: string
  /** Status, code and request ID, as far as there are. */
  detail: string
  /** The code, where the API gave one that is documented. */
  code?: string
}

const unreachable = {
  message: 'The API can’t be reached.',
  mend: 'Look at your connection, then try again. If other pages load, tell support.',
  detail: '',
}

/** @param body what came as JSON, if it was JSON. */
export function describeRefusal(status: number, body: unknown, retryAfterSeconds?: number): Failure {
  const { message, error = '', requestId } = readRefusal(body)
  const known = isErrorCode(error) ? advice[error] : undefined
  const wait = retryAfterSeconds === undefined ? '' : ` Here that is ${retryAfterSeconds} seconds.`
  return {
    message: message ?? `The answer has status ${status}, and is not one of the API.`,
    mend: known
      ? known.mend + wait
      : 'Something between you and the API may have answered. Try again; if it stays, tell support.',
    detail: [status, error, requestId && `request ${requestId}`].filter(Boolean).join(' · '),
    ...(known && { code: error }),
  }
}

export function describeNoAnswer(): Failure {
  return unreachable
}

export function renderFailure({ message, mend, detail, code }: Failure): Markup {
  return html`<div class="callout failure">
    <p><strong>${message}</strong></p>
    <p>${mend}</p>
    <p class="detail">${detail} ${code && html`<a href="/errors#${code}">More on ${code}</a>`}</p>
  </div>`
}

function readRefusal(body: unknown): { message?: string; error?: string; requestId?: string } {
  if (typeof body !== 'object' || body === null) return {}
  const text = (name: string) => {
    const value: unknown = Reflect.get(body, name)
    return typeof value === 'string' ? { [name]: value } : {}
  }
  return { ...text('message'), ...text('error'), ...text('requestId') }
}
