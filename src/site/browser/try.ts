// The two calls by hand: what went out, what came back, and what to do about a refusal.
import { html } from 'hono/html'
import type { Markup } from '../page.ts'
import { find, onSubmit } from './dom.ts'
import { describeNoAnswer, describeRefusal, renderFailure } from './failure.ts'

const tokenForm = find('#token-form', HTMLFormElement)
const plansForm = find('#plans-form', HTMLFormElement)
const tokenAnswer = find('#token-answer', HTMLElement)
const plansAnswer = find('#plans-answer', HTMLElement)
const accessToken = find('[name=accessToken]', HTMLTextAreaElement)

/** By path and filters. */
const etags = new Map<string, string>()

onSubmit(tokenForm, async ({ clientId = '', clientSecret = '' }) => {
  const credentials = encodeBase64(`${clientId}:${clientSecret}`)
  const answer = await exchange('POST', '/api/v3/partners/auth', { Authorization: `Basic ${credentials}` })
  await show(tokenAnswer, answer)
  const token = answer?.body instanceof Object ? Reflect.get(answer.body, 'access_token') : undefined
  if (answer?.status === 200 && typeof token === 'string') accessToken.value = token
})

onSubmit(plansForm, async ({ accessToken: token, shortName = '', isConditional, ...filters }) => {
  const given = Object.entries(filters).filter(([, value]) => value !== '')
  const query = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : ''
  const path = `/api/v3/partners/${encodeURIComponent(shortName)}/plans${query}`
  const etag = etags.get(path)
  const answer = await exchange('GET', path, {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(isConditional && etag !== undefined && { 'If-None-Match': etag }),
  })
  const newEtag = answer?.headers.get('ETag')
  if (newEtag) etags.set(path, newEtag)
  await show(plansAnswer, answer)
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

/** @returns undefined when there was no answer. */
async function exchange(method: string, path: string, headers: Record<string, string>): Promise<Answer | undefined> {
  const startedAt = performance.now()
  try {
    const response = await fetch(path, { method, headers, credentials: 'omit', cache: 'no-store' })
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
    return undefined
  }
}

async function show(element: HTMLElement, answer: Answer | undefined): Promise<void> {
  element.innerHTML = String(await (answer ? renderAnswer(answer) : renderFailure(describeNoAnswer())))
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
  const isRefused = status >= 400
  const retryAfter = headers.get('Retry-After')
  return html`${
      isRefused && renderFailure(describeRefusal(status, body, retryAfter === null ? undefined : Number(retryAfter)))
    }
    ${status === 200 && renderSuccess(body)}
    ${status === 304 && html`<p class="callout">Nothing has changed: keep the list you have.</p>`}
    <h3>Request</h3>
    <pre tabindex="0"><code>${request}</code></pre>
    <h3>Answer <span class="aside">after ${Math.round(milliseconds)} ms</span></h3>
    <pre tabindex="0"><code>${[`HTTP ${status} ${statusText}`.trim(), ...lines].join('\n')}

${formatBody(body)}</code></pre>`
}

function renderSuccess(body: unknown): Markup {
  const data: unknown = body instanceof Object ? Reflect.get(body, 'data') : undefined
  const total: unknown = data instanceof Object ? Reflect.get(data, 'total') : undefined
  if (typeof total !== 'number') {
    return html`<p class="callout">That is your token. It is filled in below: list the plans with it.</p>`
  }
  if (total > 0)
    return html`<p class="callout">
      ${total} ${total === 1 ? 'plan' : 'plans'}. See them as cards on <a href="/plans">your plans</a>.
    </p>`
  return html`<p class="callout">
    The list is empty. Leave the filters out; if it stays empty, no plan is viewable in your country yet: ask support.
  </p>`
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

/** Of the UTF-8 (RFC 7617). */
function encodeBase64(text: string): string {
  return btoa(String.fromCodePoint(...new TextEncoder().encode(text)))
}
