// The program of the page "Try it": lists a partner's plans, and shows the requests, the responses and the plans as cards.
import { html } from 'hono/html'
import { readFilterValue, planFilters, readPathText, type PlanFilter } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'
import { InvestmentPlansClient } from '../client/investment-plans.mts'
import { renderCodeBlock } from '../code-block.ts'
import type { Markup } from '../page-shell.ts'
import { computeScale, renderCard } from '../plan-card.ts'
import { renderError } from './error-callout.ts'

const form = find('#try', HTMLFormElement)
const outcome = find('#outcome', HTMLElement)
const exchanges = find('#exchanges', HTMLElement)
const cards = find('#cards', HTMLElement)

interface Exchange {
  url: string
  response: Response
  text: string
}

/** The requests of the last submission. */
let sent: Exchange[] = []

form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (form.getAttribute('aria-busy') === null) void submit()
})
form.addEventListener('reset', () => {
  for (const list of form.querySelectorAll('datalist')) list.replaceChildren()
  clear()
})
// The browser may restore this page from its back/forward cache, which must not bring credentials back.
addEventListener('pagehide', () => form.reset())

async function submit(): Promise<void> {
  form.setAttribute('aria-busy', 'true')
  clear()
  const started = sent
  outcome.textContent = 'Waiting for the API…'
  const result = await listPlans()
  form.removeAttribute('aria-busy')
  // Meanwhile, the reader made the page forget everything.
  if (sent !== started) return
  outcome.innerHTML = String(await result.message)
  exchanges.innerHTML = String(await html`${sent.map(renderExchange)}`)
  const scale = computeScale(result.plans)
  cards.innerHTML = String(await html`${result.plans.map((plan) => renderCard(plan, scale))}`)
}

function clear(): void {
  sent = []
  for (const element of [outcome, exchanges, cards]) element.replaceChildren()
}

/** Lists the plans with the values of the form. An error becomes a message, too. */
async function listPlans(): Promise<{ message: Markup; plans: Plan[] }> {
  const entries = [...form.querySelectorAll('input')].map(({ name, value }) => [name, value.trim()] as const)
  const { clientId = '', clientSecret = '', shortName = '', ...filters } = Object.fromEntries(entries)
  const filter: PlanFilter = {}
  // Unchecked: the API explains a wrong filter.
  for (const [name, text] of Object.entries(filters)) if (text !== '') Reflect.set(filter, name, text)
  const isFiltered = Object.keys(filter).length > 0
  try {
    const options = { clientId, clientSecret, shortName, baseUrl: location.origin, fetch: send }
    // No retries: a person waits, and can press the button again.
    const plans = await new InvestmentPlansClient({ ...options, retryDelaysMs: [] }).listPlans(filter)
    if (!isFiltered) offerFilters(plans)
    return { message: html`<p class="callout">${describeList(plans.length, isFiltered)}</p>`, plans }
  } catch (error) {
    return { message: renderError(error), plans: [] }
  }
}

/** Sends no cookies, and bypasses the HTTP cache. */
async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: 'omit', cache: 'no-store' })
  sent.push({ url, response, text: await response.clone().text() })
  return response
}

function describeList(total: number, isFiltered: boolean): string {
  if (total > 0) return `${total} ${total === 1 ? 'plan' : 'plans'}.`
  return isFiltered
    ? 'No plan matches all of these filters. Clear one of them.'
    : 'No plan is viewable in your country yet. Ask support when your plans will be available.'
}

/** Suggests each value that occurs in the list of all plans. */
function offerFilters(plans: Plan[]): void {
  for (const [name, filter] of Object.entries(planFilters)) {
    const options = plans.flatMap((plan): [string, string][] => {
      const value = readFilterValue(plan, filter)
      return value === undefined ? [] : [[String(value), readPathText(plan, filter.labelPath ?? filter.path)]]
    })
    const suggestions = [...new Map(options)].map(([value, text]) => new Option(text, value))
    find(`datalist#${name}`, HTMLDataListElement).replaceChildren(...suggestions)
  }
}

const shownHeaders = ['Content-Type', 'Cache-Control', 'ETag', 'WWW-Authenticate', 'Retry-After', 'X-Request-Id']

function renderExchange({ url, response, text }: Exchange): Markup {
  const { status, headers } = response
  const lines = shownHeaders.flatMap((name) => (headers.has(name) ? `${name}: ${headers.get(name)}` : []))
  return html`<section>
    <h2>${url.endsWith('/auth') ? 'Get a token' : 'List the plans'}</h2>
    ${renderCodeBlock(formatCurl(url))}
    <details>
      <summary>Response: ${status}</summary>
      ${renderCodeBlock([`HTTP ${status}`, ...lines, '', formatBody(text)].join('\n'))}
    </details>
  </section>`
}

/** Shows neither secret nor token: curl asks for the secret, and the response above has the token. */
function formatCurl(url: string): string {
  const credentials = url.endsWith('/auth') ? '-X POST -u "$CLIENT_ID"' : '-H "Authorization: Bearer $TOKEN"'
  return `curl -i ${credentials} '${url}'`
}

function formatBody(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** @throws Error if the page has no such element, which is a bug of the site. */
function find<Type extends Element>(selector: string, type: new () => Type): Type {
  const element = document.querySelector(selector)
  if (!(element instanceof type)) throw new Error(`The page has no ${type.name} that matches ${selector}.`)
  return element
}
