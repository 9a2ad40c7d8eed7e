// Renders a plan as a card: on the start page when the site is built, and on the plans page in the browser. Pure.
import { html } from 'hono/html'
import { renderArtwork } from './plan-artwork.ts'
import type { Plan } from '../catalog/plan-schema.ts'
import type { Markup } from './page-shell.ts'

/** @param scale must be the same for all cards of a list, so that their bars can be compared. */
export function renderCard(plan: Plan, scale: Scale): Markup {
  const { category, productRiskLevel, fundManager, planType, fundCurrency } = plan
  const details = `about-${plan.identifier}`
  return html`<article class="card" data-identifier="${plan.identifier}">
    <div class="art">${renderArtwork(plan.identifier)}</div>
    <div class="card-body">
      ${category && html`<p class="card-category">${category.displayName}</p>`}
      <h2>${plan.coolName}</h2>
      <p class="card-hint">${plan.hint}</p>
      ${
        !plan.isInvestable &&
        html`<div class="card-note">
          <strong>Closed to new investment</strong>
          <p>${plan.nonInvestableNote}</p>
        </div>`
      }
      ${renderReturns(plan, scale)}
      ${renderFacts('facts', [
        ['Start with', plan.isInvestable && formatAmounts(plan.minInvestableAmounts)],
        ['Top up from', plan.isInvestable && formatAmounts(plan.minTopUpAmounts)],
        ['Risk', productRiskLevel?.name],
        ['Lock-in', formatDays(plan.lockInPeriod)],
      ])}
      <button class="about" type="button" popovertarget="${details}">
        About <span class="visually-hidden">${plan.coolName}</span>
      </button>
      <div class="about-plan" id="${details}" popover>
        <h3>${plan.name}</h3>
        <p>${plan.about}</p>
        ${renderFacts('details', [
          ['Managed by', fundManager?.name],
          ['Type', planType?.name],
          ['Invests in', plan.sector],
          ['Term', plan.tenor],
          ['Partial withdrawal', plan.partialWithdrawable ? 'Possible' : 'Not possible'],
          ['Returns', plan.profitTypeDescription],
          ['Currency of the fund', fundCurrency?.currency],
        ])}
        <p class="card-links">
          <a href="${plan.factSheet}" rel="noreferrer">Fact sheet</a>
          <a href="${plan.prospectus}" rel="noreferrer">Prospectus</a>
          <a href="${plan.imageUrl}" rel="noreferrer">Artwork</a>
          <a href="${plan.thumbnail}" rel="noreferrer">Thumbnail</a>
        </p>
      </div>
    </div>
  </article>`
}

/** Hides the label of a fact that is not known. */
function renderFacts(name: string, facts: readonly (readonly [string, string | false | undefined])[]): Markup {
  return html`<dl class="${name}">
    ${facts.map(
      ([term, description]) =>
        description &&
        html`<div>
          <dt>${term}</dt>
          <dd>${description}</dd>
        </div>`,
    )}
  </dl>`
}

/** The range of all returns of a list, in percent per year. Includes zero. */
interface Scale {
  top: number
  bottom: number
}

export function computeScale(plans: readonly Plan[]): Scale {
  const known = plans.flatMap((plan) => listReturns(plan).flatMap(({ value }) => value ?? []))
  return { top: Math.max(0, ...known), bottom: Math.min(0, ...known) }
}

function listReturns({ performance1, performance3, performance5, performance10 }: Plan) {
  return [
    { years: 1, value: performance1 },
    { years: 3, value: performance3 },
    { years: 5, value: performance5 },
    { years: 10, value: performance10 },
  ]
}

const barHeight = 44

const unknown = html`<span class="unknown"
  ><span aria-hidden="true">–</span><span class="visually-hidden">not available</span></span
>`

function renderReturns(plan: Plan, { top, bottom }: Scale): Markup {
  const returns = listReturns(plan)
  if (returns.every(({ value }) => value === null)) return html``
  const toY = (value: number) => (barHeight * (top - value)) / (top - bottom || 1)
  return html`<div class="returns">
    <p>Annualized return in ${plan.currency} as of ${formatDate(plan.performanceDate)}</p>
    <dl>
      ${returns.map(
        ({ years, value }) =>
          html`<div>
            <dt>${years} ${years === 1 ? 'year' : 'years'}</dt>
            <dd>
              ${value === null ? unknown : formatPercent(value)}
              <svg viewBox="0 0 40 ${barHeight}" preserveAspectRatio="none" aria-hidden="true">
                <rect class="zero" y="${toY(0) - 0.5}" width="40" height="1" />
                ${
                  value !== null &&
                  html`<rect
                    class="${value < 0 ? 'loss' : 'gain'}"
                    y="${Math.min(toY(value), toY(0))}"
                    width="40"
                    height="${Math.abs(toY(value) - toY(0))}"
                  />`
                }
              </svg>
            </dd>
          </div>`,
      )}
    </dl>
    <p class="caution">Past returns do not guarantee future returns.</p>
  </div>`
}

const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 15 })
const percent = new Intl.NumberFormat('en', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 2,
  signDisplay: 'negative',
})
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

function formatAmounts(amounts: Plan['minInvestableAmounts']): string {
  const texts = Object.entries(amounts).map(([currency, amount]) =>
    amount === 0 ? `any amount in ${currency}` : `${currency}\u00a0${decimal.format(amount)}`,
  )
  return texts.join(' or ').replace(/^any/, 'Any')
}

function formatDays(days: number): string {
  if (days === 0) return 'None'
  return days === 1 ? '1 day' : `${decimal.format(days)} days`
}

function formatPercent(value: number): string {
  return `${percent.format(value)}%`
}

function formatDate(isoDate: string): string {
  return date.format(new Date(isoDate))
}
