// Makes both API calls from the Try it page, and shows each request and response with its meaning.
import { html } from 'hono/html'
import { readPath } from '../../json.ts'
import { encodeBase64 } from '../client/investment-plans.mts'
import type { Markup } from '../page-shell.ts'
import { isErrorCode } from '../error-advice.ts'
import { reproductions } from '../error-reproductions.ts'
import { find, onSubmit, readForm } from './dom.ts'
import { describeRefusal, renderFailure, unreachable, type Failure } from './failure.ts'

const timeoutMs = 15_000

const accessToken = find('[name=accessToken]', HTMLTextAreaElement)
const tokenForm = find('#token-form', HTMLFormElement)
const plansForm = find('#plans-form', HTMLFormElement)

/** The ETag of the last list, by path and query. */
const etags = new Map<string, string>()

onSubmit(tokenForm, async ({ clientId = '', clientSecret = '' }) => {
  const headers = { Authorization: `Basic ${encodeBase64(`${clientId}:${clientSecret}`)}` }
  await call('token', 'POST', '/api/v3/partners/auth', headers, ({ status, body }) => {
    const token = status === 200 ? readPath(body, 'access_token') : undefined
    if (typeof token !== 'string') return undefined
    accessToken.value = token
    return 'You have a token. It is filled in below: now list the plans.'
  })
})

onSubmit(plansForm, async ({ accessToken: text = '', shortName = '', isConditional, ...filters }) => {
  const token = readToken(text)
  const given = Object.entries(filters).filter(([, value]) => value !== '')
  const query = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : ''
  const path = `/api/v3/partners/${encodeURIComponent(shortName)}/plans${query}`
  const etag = etags.get(path)
  const requestHeaders = {
    ...(token && { Authorization: `Bearer ${token}` }),
    ...(isConditional && etag !== undefined && { 'If-None-Match': etag }),
  }
  await call('plans', 'GET', path, requestHeaders, ({ status, headers, body }) => {
    if (status === 304) return 'The list hasn’t changed: keep the one you have.'
    const total = status === 200 ? readPath(body, 'data', 'total') : undefined
    if (typeof total !== 'number') return undefined
    const newEtag = headers.get('ETag')
    if (newEtag !== null) etags.set(path, newEtag)
    if (total > 0)
      return html`${total} ${total === 1 ? 'plan' : 'plans'}. To see them as cards, open
        <a href="/plans">Your plans</a>.`
    return 'The list is empty. If you set filters, remove them and try again. If it stays empty, no plan is viewable in your country yet: contact support.'
  })
})

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-reproduce]')) {
  button.addEventListener('click', () => void reproduce(button.dataset['reproduce'] ?? ''))
}

async function reproduce(code: string): Promise<void> {
  const reproduction = isErrorCode(code) ? reproductions[code] : undefined
  if (!reproduction || 'prefer' in reproduction) return
  const { method, path, authorization } = reproduction
  const { shortName = '', accessToken: text = '' } = readForm(plansForm)
  const { clientId = '' } = readForm(tokenForm)
  const value = authorization?.value.replace('$TOKEN', readToken(text)).replace('$CLIENT_ID', clientId.trim()) ?? ''
  const headers = authorization && {
    Authorization: `${authorization.scheme} ${authorization.scheme === 'Basic' ? encodeBase64(value) : value}`,
  }
  if (authorization?.value === '$TOKEN' && value === '') {
    const noToken = {
      message: 'This error needs an access token.',
      fix: 'Get a token above, then press the button again.',
    }
    find('#reproduction-outcome', HTMLElement).innerHTML = String(await renderFailure(noToken))
    find('#reproduction-response', HTMLElement).replaceChildren()
    return
  }
  const fullPath = path.replace('$SHORT_NAME', encodeURIComponent(shortName.trim() || 'your-short-name'))
  await call('reproduction', method, fullPath, headers ?? {}, () => undefined)
}

/** A token copied from a terminal can contain line breaks, and one copied from a header its scheme. */
function readToken(text: string): string {
  return text.replace(/^\s*Bearer\s+/i, '').replaceAll(/\s+/g, '')
}

// The browser's back button can restore a page with its state: remove the credentials when the page is left.
addEventListener('pagehide', () => {
  for (const form of [tokenForm, plansForm]) form.reset()
  for (const element of document.querySelectorAll('.outcome, .response')) element.replaceChildren()
})

interface Exchange {
  /** The request as text, without the secret. */
  request: string
  status: number
  statusText: string
  headers: Headers
  milliseconds: number
  /** The parsed JSON, or the text if the body is not JSON. */
  body: unknown
}

/** @param describe returns the meaning of a successful response, and undefined for any other response. */
async function call(
  name: 'token' | 'plans' | 'reproduction',
  method: string,
  path: string,
  headers: Record<string, string>,
  describe: (exchange: Exchange) => Markup | string | undefined,
): Promise<void> {
  const outcome = find(`#${name}-outcome`, HTMLElement)
  const response = find(`#${name}-response`, HTMLElement)
  outcome.textContent = 'Waiting for the API…'
  response.replaceChildren()
  const exchange = await send(method, path, headers)
  if ('message' in exchange) {
    outcome.innerHTML = String(await renderFailure(exchange))
    return
  }
  const meaning = describe(exchange)
  outcome.innerHTML = String(
    await (meaning === undefined ? renderFailure(explain(exchange)) : html`<p class="callout">${meaning}</p>`),
  )
  response.innerHTML = String(await renderExchange(exchange))
}

async function send(method: string, path: string, headers: Record<string, string>): Promise<Exchange | Failure> {
  let requestHeaders: Headers
  try {
    requestHeaders = new Headers(headers)
  } catch {
    return {
      message: 'This is not an access token: it contains characters that a token never has.',
      fix: 'Get a token above, or paste the whole value of access_token without the quotes.',
    }
  }
  const startedAt = performance.now()
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(path, {
      method,
      headers: requestHeaders,
      credentials: 'omit',
      cache: 'no-store',
      signal,
    })
    const text = await response.text()
    return {
      request: formatRequest(method, path, headers),
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

function explain({ status, headers, body }: Exchange): Failure {
  const readText = (name: string) => {
    const value = readPath(body, name)
    return typeof value === 'string' ? value : undefined
  }
  const seconds = Number(headers.get('Retry-After') ?? Number.NaN)
  return describeRefusal({
    status,
    message: readText('message'),
    code: readText('error'),
    requestId: readText('requestId'),
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

function renderExchange({ request, status, statusText, headers, milliseconds, body }: Exchange): Markup {
  const lines = shownHeaders.flatMap((name) => (headers.has(name) ? `${name}: ${headers.get(name)}` : []))
  return html`<details>
      <summary>Request</summary>
      <pre tabindex="0"><code>${request}</code></pre>
    </details>
    <details open>
      <summary>Response <span class="aside">after ${Math.round(milliseconds)} ms</span></summary>
      <pre tabindex="0"><code>${[`HTTP ${status} ${statusText}`.trim(), ...lines].join('\n')}

${formatBody(body)}</code></pre>
    </details>`
}

/** Hides the credentials of Basic authentication. */
function formatRequest(method: string, path: string, headers: Record<string, string>): string {
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
