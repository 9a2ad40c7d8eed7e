// A partner's plans as cards, by the very client that partners may copy.
import { html } from 'hono/html'
import { renderCard, scaleOf } from '../plan-card.ts'
import { InvestmentPlansClient, InvestmentPlansError, type Plan, type PlanFilter } from '../client/investment-plans.ts'
import { find, onSubmit, readForm } from './dom.ts'
import { describeRefusal, renderFailure, unreachable } from './failure.ts'

const signIn = find('#sign-in', HTMLFormElement)
const filters = find('#filters', HTMLFormElement)
const failure = find('#failure', HTMLElement)
const count = find('#count', HTMLElement)
const cards = find('#cards', HTMLElement)
const artwork = find('[name=hasArtwork]', HTMLInputElement)
const artworkLabel = find('#artwork-label', HTMLElement)
const signOutButton = find('#sign-out', HTMLButtonElement)

/** Holds the credentials, here alone. */
let client: InvestmentPlansClient | undefined
/** Who may be asked for artwork. */
let artworkHosts = new Set<string>()

onSubmit(signIn, async ({ clientId = '', clientSecret = '', shortName = '' }) => {
  const next = new InvestmentPlansClient({ baseUrl: location.origin, clientId, clientSecret, shortName, fetch: send })
  const plans = await load(next.listPlans())
  if (!plans) return
  client = next
  signIn.reset()
  showSignedIn(true)
  offerFilters(plans)
  await showPlans(plans, false)
  find('[name=categoryId]', HTMLSelectElement).focus()
})

filters.addEventListener('change', ({ target }) => {
  if (target === artwork) showArtwork()
  else void refresh()
})

signOutButton.addEventListener('click', () => {
  signOut()
  find('[name=clientId]', HTMLInputElement).focus()
})

// Going back to this page brings it as it was left, but for credentials.
addEventListener('pagehide', signOut)

function signOut(): void {
  client = undefined
  asked++
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

/** Credentials are the client's own business, and so is what it keeps. */
function send(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, credentials: 'omit', cache: 'no-store' })
}

async function refresh(): Promise<void> {
  const { categoryId, fundType, currency } = readForm(filters)
  const filter: PlanFilter = {
    ...(categoryId && { categoryId: Number(categoryId) }),
    ...(fundType && { fundType }),
    ...(currency && { currency }),
  }
  if (!client) return
  const plans = await load(client.listPlans(filter))
  if (plans) await showPlans(plans, Object.keys(filter).length > 0)
}

/** How many lists were asked for: only the answer to the last is of interest. */
let asked = 0

/** @returns undefined when something else was asked for meanwhile, or when it failed, which it shows. */
async function load(list: Promise<Plan[]>): Promise<Plan[] | undefined> {
  const turn = ++asked
  cards.setAttribute('aria-busy', 'true')
  count.textContent = 'Waiting for the API…'
  const outcome = await list.then(
    (plans) => ({ plans }),
    (error: unknown) => ({ error }),
  )
  if (turn !== asked) return undefined
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
    // The button goes away; whoever pressed it stays near.
    count.focus()
    void refresh()
  })
  return button
}

async function showPlans(plans: Plan[], isFiltered: boolean): Promise<void> {
  const scale = scaleOf(plans)
  count.textContent = describeCount(plans.length, isFiltered)
  cards.innerHTML = String(await html`${plans.map((plan) => renderCard(plan, scale))}`)
  showArtwork()
}

function describeCount(total: number, isFiltered: boolean): string {
  if (total > 0) return total === 1 ? '1 plan' : `${total} plans`
  return isFiltered
    ? 'No plan matches all of these filters. Set one of them back to “Any”.'
    : 'No plan is viewable in your country yet. Ask support which plans you are to get, and come back.'
}

/** What the whole list has to choose from. */
function offerFilters(plans: Plan[]): void {
  const categories = plans.flatMap(({ category }) => category ?? [])
  offer('categoryId', new Map(categories.map(({ id, displayName }) => [String(id), displayName])))
  offer('fundType', new Map(plans.map(({ fundType }) => [fundType, fundType])))
  offer('currency', new Map(plans.map(({ currency }) => [currency, currency])))
  artworkHosts = new Set(plans.map(({ imageUrl }) => new URL(imageUrl).host))
  artworkLabel.textContent = `Load the artwork from ${[...artworkHosts].join(', ')}`
}

function offer(name: string, values: Map<string, string>): void {
  const options = [...values].toSorted(([, one], [, other]) => one.localeCompare(other))
  const select = find(`[name=${name}]`, HTMLSelectElement)
  select.replaceChildren(new Option('Any', ''), ...options.map(([value, text]) => new Option(text, value)))
}

/**
 * Each plan's own artwork, once it was asked for from where it lies: that server learns who looks. Where it can't be
 * had, ours stays.
 */
function showArtwork(): void {
  for (const frame of cards.querySelectorAll<HTMLElement>('.art')) {
    frame.querySelector('img')?.remove()
    const { image: imageUrl = '' } = frame.dataset
    if (!artwork.checked || !artworkHosts.has(new URL(imageUrl).host)) continue
    const image = new Image()
    image.alt = ''
    image.referrerPolicy = 'no-referrer'
    image.addEventListener('error', () => image.remove())
    image.src = imageUrl
    frame.append(image)
  }
}
