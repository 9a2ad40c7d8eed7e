// Runs on the page "Try it": lists a partner's plans, and shows the requests, the responses and the plans as cards.
import { html } from 'hono/html'
import { readFilterValue, planFilters, readPathText, type PlanFilter } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'
import { parseJson } from '../../json.ts'
import { InvestmentPlansClient } from '../client/investment-plans.mts'
import { renderCodeBlock } from '../code-block.ts'
import type { Markup } from '../page-shell.ts'
import { computeScale, renderCard } from '../plan-card.ts'
import { renderError } from './error-callout.ts'

const form = requireElement('#try', HTMLFormElement)
const messageElement = requireElement('#outcome', HTMLElement)
const exchangesElement = requireElement('#exchanges', HTMLElement)
const cardsElement = requireElement('#cards', HTMLElement)

interface Exchange {
  url: string
  response: Response
  /** The body of the response. */
  text: string
}

/** The requests since the last submission, with their responses. `clearResults` replaces the array. */
let exchanges: Exchange[] = []

form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (form.getAttribute('aria-busy') === null) void submit()
})
form.addEventListener('reset', () => {
  for (const list of form.querySelectorAll('datalist')) list.replaceChildren()
  clearResults()
})
// The browser may restore this page from its back/forward cache. The reset keeps credentials out of that cache.
addEventListener('pagehide', () => form.reset())

async function submit(): Promise<void> {
  form.setAttribute('aria-busy', 'true')
  clearResults()
  const exchangesAtStart = exchanges
  messageElement.textContent = 'Waiting for the API…'
  const { message, plans } = await listPlans()
  form.removeAttribute('aria-busy')
  // The reader pressed "Forget everything" while the API was answering.
  if (exchanges !== exchangesAtStart) return
  messageElement.innerHTML = String(await message)
  exchangesElement.innerHTML = String(await html`${exchanges.map(renderExchange)}`)
  const scale = computeScale(plans)
  cardsElement.innerHTML = String(await html`${plans.map((plan) => renderCard(plan, scale))}`)
}

function clearResults(): void {
  exchanges = []
  for (const element of [messageElement, exchangesElement, cardsElement]) element.replaceChildren()
}

/** Lists the plans with the credentials and filters of the form. Without filters, also suggests values for them. Never throws: the message explains an error. */
async function listPlans(): Promise<{ message: Markup; plans: Plan[] }> {
  const entries = [...form.querySelectorAll('input')].map(({ name, value }) => [name, value.trim()] as const)
  const { clientId = '', clientSecret = '', shortName = '', ...filters } = Object.fromEntries(entries)
  const filter: PlanFilter = {}
  // An invalid value is sent, too: the response of the API explains the mistake.
  for (const [name, text] of Object.entries(filters)) if (text !== '') Reflect.set(filter, name, text)
  const isFiltered = Object.keys(filter).length > 0
  try {
    const options = { clientId, clientSecret, shortName, baseUrl: location.origin, fetch: sendAndRecord }
    // No retries: a person waits, and can press the button again.
    const plans = await new InvestmentPlansClient({ ...options, retryDelaysMs: [] }).listPlans(filter)
    if (!isFiltered) suggestFilterValues(plans)
    return { message: html`<p class="callout">${describeList(plans.length, isFiltered)}</p>`, plans }
  } catch (error) {
    return { message: renderError(error), plans: [] }
  }
}

/** Sends a request without cookies and past the HTTP cache. Adds the request and its response to `exchanges`. */
async function sendAndRecord(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store' })
  exchanges.push({ url, response, text: await response.clone().text() })
  return response
}

function describeList(total: number, isFiltered: boolean): string {
  if (total > 0) return `${total} ${total === 1 ? 'plan' : 'plans'}.`
  return isFiltered
    ? 'No plan matches all of these filters. Clear one of them.'
    : 'No plan is viewable in your country yet. Ask support when your plans will be available.'
}

/** Suggests to each filter's input the values that occur in the plans. */
function suggestFilterValues(plans: Plan[]): void {
  for (const [name, filter] of Object.entries(planFilters)) {
    const labelsByValue = new Map<string, string>()
    for (const plan of plans) {
      const value = readFilterValue(plan, filter)
      if (value !== undefined) labelsByValue.set(String(value), readPathText(plan, filter.labelPath ?? filter.path))
    }
    const suggestions = [...labelsByValue].map(([value, label]) => new Option(label, value))
    requireElement(`datalist#${name}`, HTMLDataListElement).replaceChildren(...suggestions)
  }
}

const shownHeaders = ['Content-Type', 'Cache-Control', 'ETag', 'WWW-Authenticate', 'Retry-After', 'X-Request-Id']

function renderExchange({ url, response, text }: Exchange): Markup {
  const { status, headers } = response
  const json = parseJson(text)
  const body = json === undefined ? text : JSON.stringify(json, null, 2)
  const headerLines = shownHeaders.flatMap((name) => (headers.has(name) ? `${name}: ${headers.get(name)}` : []))
  return html`<section>
    <h2>${url.endsWith('/auth') ? 'Get a token' : 'List the plans'}</h2>
    ${renderCodeBlock(formatCurl(url))}
    <details>
      <summary>Response: ${status}</summary>
      ${renderCodeBlock([`HTTP ${status}`, ...headerLines, '', body].join('\n'))}
    </details>
  </section>`
}

/** Formats a request as a command. It shows no secret: curl asks for the client secret, and a variable has the token. */
function formatCurl(url: string): string {
  const credentials = url.endsWith('/auth') ? '-X POST -u "$CLIENT_ID"' : '-H "Authorization: Bearer $TOKEN"'
  return `curl -i ${credentials} '${url}'`
}

/** Returns the first element that matches. @throws Error if there is none, or it has another type: a bug of the site */
function requireElement<Type extends Element>(selector: string, type: new () => Type): Type {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`The page has no ${type.name} that matches ${selector}.`)
  return element
}
