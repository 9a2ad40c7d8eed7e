// Shows a partner's plans as cards. Uses the client that partners copy.
import { html } from 'hono/html'
import { filterNames, getValue, planFilters, readText, setFilter, type PlanFilter } from '../../catalog/plan-filters.ts'
import type { Plan } from '../../catalog/plan-schema.ts'
import { computeScale, renderCard } from '../plan-card.ts'
import { InvestmentPlansClient, InvestmentPlansError } from '../client/investment-plans.mts'
import { find, onSubmit, readForm } from './dom.ts'
import { describeRefusal, renderFailure, unreachable } from './failure.ts'

const signIn = find('#sign-in', HTMLFormElement)
const filters = find('#filters', HTMLFormElement)
const failure = find('#failure', HTMLElement)
const count = find('#count', HTMLElement)
const cards = find('#cards', HTMLElement)
const signOutButton = find('#sign-out', HTMLButtonElement)

/** The only place that holds the credentials. */
let client: InvestmentPlansClient | undefined

onSubmit(signIn, async ({ clientId = '', clientSecret = '', shortName = '' }) => {
  const credentials = { clientId, clientSecret, shortName }
  // A person waits, and has a button to try again.
  const next = new InvestmentPlansClient({ ...credentials, baseUrl: location.origin, fetch: send, retryDelaysMs: [] })
  const plans = await load(next.listPlans())
  if (!plans) return
  client = next
  signIn.reset()
  showSignedIn(true)
  offerFilters(plans)
  await showPlans(plans, false)
  find('#filters select', HTMLSelectElement).focus()
})

filters.addEventListener('change', () => void refresh())

signOutButton.addEventListener('click', () => {
  signOut()
  find('[name=clientId]', HTMLInputElement).focus()
})

// The browser may restore this page from its back/forward cache. Credentials must not come back.
addEventListener('pagehide', signOut)

function signOut(): void {
  client = undefined
  requestCount++
  signIn.reset()
  filters.reset()
  showSignedIn(false)
  clear()
}

function showSignedIn(isSignedIn: boolean): void {
  signIn.hidden = isSignedIn
  filters.hidden = !isSignedIn
  signOutButton.hidden = !isSignedIn
}

function clear(): void {
  cards.removeAttribute('aria-busy')
  for (const element of [failure, count, cards]) element.replaceChildren()
}

/** Sends no cookies and bypasses the HTTP cache: the client handles credentials and ETags itself. */
function send(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, credentials: 'omit', cache: 'no-store' })
}

async function refresh(): Promise<void> {
  if (!client) return
  const chosen = readForm(filters)
  const filter: PlanFilter = {}
  for (const name of filterNames) if (chosen[name]) setFilter(filter, name, chosen[name])
  const plans = await load(client.listPlans(filter))
  if (plans) await showPlans(plans, Object.keys(filter).length > 0)
}

/** Counts the requested lists. Only the response to the latest request is shown. */
let requestCount = 0

/** Returns undefined when a newer list was requested meanwhile, or when the request failed. Shows the failure. */
async function load(list: Promise<Plan[]>): Promise<Plan[] | undefined> {
  const turn = ++requestCount
  cards.setAttribute('aria-busy', 'true')
  count.textContent = 'Waiting for the API…'
  const outcome = await list.then(
    (plans) => ({ plans }),
    (error: unknown) => ({ error }),
  )
  if (turn !== requestCount) return undefined
  clear()
  if ('plans' in outcome) return outcome.plans
  const { error } = outcome
  failure.innerHTML = String(
    await renderFailure(error instanceof InvestmentPlansError ? describeRefusal(error) : unreachable),
  )
  if (client) failure.firstElementChild?.append(makeRetryButton())
  return undefined
}

function makeRetryButton(): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'quiet'
  button.textContent = 'Try again'
  button.addEventListener('click', () => {
    // The button disappears: keep the keyboard focus near it.
    count.focus()
    void refresh()
  })
  return button
}

async function showPlans(plans: Plan[], isFiltered: boolean): Promise<void> {
  const scale = computeScale(plans)
  count.textContent = describeCount(plans.length, isFiltered)
  cards.innerHTML = String(await html`${plans.map((plan) => renderCard(plan, scale))}`)
}

function describeCount(total: number, isFiltered: boolean): string {
  if (total > 0) return total === 1 ? '1 plan' : `${total} plans`
  return isFiltered
    ? 'No plan matches all of these filters. Set one of them back to “Any”.'
    : 'No plan is viewable in your country yet. Ask support when your plans will be available.'
}

/** Offers each value that occurs in the list of all plans. */
function offerFilters(plans: Plan[]): void {
  for (const [name, filter] of Object.entries(planFilters)) {
    const options = plans.flatMap((plan): [string, string][] => {
      const value = getValue(plan, filter)
      return value === undefined ? [] : [[String(value), readText(plan, filter.labelPath ?? filter.path)]]
    })
    offer(name, new Map(options))
  }
}

function offer(name: string, values: Map<string, string>): void {
  const options = [...values].toSorted(([, one], [, other]) => one.localeCompare(other))
  const select = find(`[name=${name}]`, HTMLSelectElement)
  select.replaceChildren(new Option('Any', ''), ...options.map(([value, text]) => new Option(text, value)))
}
