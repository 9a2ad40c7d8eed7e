// The two calls by hand: what went out, what came back, and what to do about a refusal.
import { html } from 'hono/html'
import { encodeBase64 } from '../client/investment-plans.ts'
import type { Markup } from '../page-shell.ts'
import { find, onSubmit } from './dom.ts'
import { describeRefusal, renderFailure, unreachable, type Failure } from './failure.ts'

const deadlineMs = 15_000

const accessToken = find('[name=accessToken]', HTMLTextAreaElement)
const tokenForm = find('#token-form', HTMLFormElement)
const plansForm = find('#plans-form', HTMLFormElement)

/** By path and filters. */
const etags = new Map<string, string>()

onSubmit(tokenForm, async ({ clientId = '', clientSecret = '' }) => {
  const credentials = encodeBase64(`${clientId}:${clientSecret}`)
  await call(
    'token',
    'POST',
    '/api/v3/partners/auth',
    { Authorization: `Basic ${credentials}` },
    ({ status, body }) => {
      const token = status === 200 ? member(body, 'access_token') : undefined
      if (typeof token !== 'string') return undefined
      accessToken.value = token
      return 'That is your token. It is filled in below: list the plans with it.'
    },
  )
})

onSubmit(plansForm, async ({ accessToken: text = '', shortName = '', isConditional, ...filters }) => {
  // A terminal breaks a token into lines.
  const token = text.replaceAll(/\s+/g, '')
  const given = Object.entries(filters).filter(([, value]) => value !== '')
  const query = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : ''
  const path = `/api/v3/partners/${encodeURIComponent(shortName)}/plans${query}`
  const etag = etags.get(path)
  const headers = {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(isConditional && etag !== undefined && { 'If-None-Match': etag }),
  }
  await call('plans', 'GET', path, headers, ({ status, headers: answered, body }) => {
    if (status === 304) return 'Nothing has changed: keep the list you have.'
    const total = status === 200 ? member(member(body, 'data'), 'total') : undefined
    if (typeof total !== 'number') return undefined
    const newEtag = answered.get('ETag')
    if (newEtag !== null) etags.set(path, newEtag)
    if (total > 0)
      return html`${total} ${total === 1 ? 'plan' : 'plans'}. <a href="/plans">Your plans</a> shows them as cards.`
    return 'The list is empty. Leave the filters out; if it stays empty, no plan is viewable in your country yet: ask support.'
  })
})

// Going back to this page brings it as it was left, but for credentials.
addEventListener('pagehide', () => {
  tokenForm.reset()
  plansForm.reset()
  for (const element of document.querySelectorAll('.outcome, .answer')) element.replaceChildren()
})

interface Answer {
  request: string
  status: number
  statusText: string
  headers: Headers
  milliseconds: number
  /** The JSON, or else the text. */
  body: unknown
}

/** @param describe says what an answer means that is no refusal; undefined when it can't be one of the API. */
async function call(
  name: 'token' | 'plans',
  method: string,
  path: string,
  headers: Record<string, string>,
  describe: (answer: Answer) => Markup | string | undefined,
): Promise<void> {
  const outcome = find(`#${name}-outcome`, HTMLElement)
  const shown = find(`#${name}-answer`, HTMLElement)
  outcome.textContent = 'Waiting for the API…'
  shown.replaceChildren()
  const answer = await exchange(method, path, headers)
  if ('message' in answer) {
    outcome.innerHTML = String(await renderFailure(answer))
    return
  }
  const meaning = describe(answer)
  outcome.innerHTML = String(
    await (meaning === undefined ? renderFailure(explain(answer)) : html`<p class="callout">${meaning}</p>`),
  )
  shown.innerHTML = String(await renderAnswer(answer))
}

async function exchange(method: string, path: string, headers: Record<string, string>): Promise<Answer | Failure> {
  let sent: Headers
  try {
    sent = new Headers(headers)
  } catch {
    return {
      message: 'That is not a token: it has characters that none has.',
      fix: 'Get a token above, or paste the whole value of access_token without the quotes.',
    }
  }
  const startedAt = performance.now()
  try {
    const signal = AbortSignal.timeout(deadlineMs)
    const response = await fetch(path, { method, headers: sent, credentials: 'omit', cache: 'no-store', signal })
    const text = await response.text()
    return {
      request: describeRequest(method, path, headers),
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
      milliseconds: performance.now() - startedAt,
      body: parseJson(text),
    }
  } catch {
    return unreachable
  }
}

function explain({ status, headers, body }: Answer): Failure {
  const text = (name: string) => {
    const value = member(body, name)
    return typeof value === 'string' ? value : undefined
  }
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  return describeRefusal({
    status,
    message: text('message'),
    code: text('error'),
    requestId: text('requestId'),
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : undefined,
  })
}

const shownHeaders = [
  'Content-Type',
  'Cache-Control',
  'ETag',
  'Vary',
  'Cache-Status',
  'WWW-Authenticate',
  'Allow',
  'Retry-After',
  'X-Request-Id',
]

function renderAnswer({ request, status, statusText, headers, milliseconds, body }: Answer): Markup {
  const lines = shownHeaders.flatMap((name) => (headers.has(name) ? `${name}: ${headers.get(name)}` : []))
  return html`<details>
      <summary>Request</summary>
      <pre tabindex="0"><code>${request}</code></pre>
    </details>
    <details open>
      <summary>Answer <span class="aside">after ${Math.round(milliseconds)} ms</span></summary>
      <pre tabindex="0"><code>${[`HTTP ${status} ${statusText}`.trim(), ...lines].join('\n')}

${formatBody(body)}</code></pre>
    </details>`
}

/** Without the secret, which nobody needs to see again. */
function describeRequest(method: string, path: string, headers: Record<string, string>): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `${name}: ${value.replace(/^(Basic) .*/, '$1 ••••••••')}`,
  )
  return [`${method} ${path}`, `Host: ${location.host}`, ...lines].join('\n')
}

function formatBody(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function member(value: unknown, name: string): unknown {
  return value instanceof Object ? Reflect.get(value, name) : undefined
}
