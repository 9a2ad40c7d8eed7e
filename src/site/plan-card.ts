// Renders a plan as a card. The build of the site and, in the browser, "Try it" use it.
import { html } from 'hono/html'
import { renderArtwork } from './plan-artwork.ts'
import type { Plan } from '../catalog/plan-schema.ts'
import type { Markup } from './page-shell.ts'

/** @param scale must be the same for all cards of a list, so that bars of different cards can be compared */
export function renderCard(plan: Plan, scale: Scale): Markup {
  const detailsId = `about-${plan.identifier}`
  return html`<article class="card" data-identifier="${plan.identifier}">
    <div class="art">${renderArtwork(plan.identifier)}</div>
    <div class="card-body">
      ${renderFace(plan, scale)}
      <button class="about" type="button" popovertarget="${detailsId}">
        About <span class="visually-hidden">${plan.coolName}</span>
      </button>
      <div class="about-plan" id="${detailsId}" popover>${renderDetails(plan)}</div>
    </div>
  </article>`
}

/** Returns what stands after a value: nothing on a card, and in blocks/card-picture.ts the names of the fields that have the value. */
export type LabelFields = (...fields: (keyof Plan)[]) => Markup | string
const noLabel: LabelFields = () => ''

/** Renders the part of a card that is always visible. */
export function renderFace(plan: Plan, scale: Scale, label = noLabel): Markup {
  const { category, productRiskLevel, isInvestable } = plan
  return html`${category && html`<p class="card-category">${category.displayName}${label('category')}</p>`}
    <h2>${plan.coolName}${label('coolName')}</h2>
    <p class="card-hint">${plan.hint}${label('hint')}</p>
    ${!isInvestable && renderClosedNote(plan, label)} ${renderReturns(plan, scale, label)}
    ${renderFacts('facts', [
      ['Start with', isInvestable && formatAmounts(plan.minInvestableAmounts), label('minInvestableAmounts')],
      ['Top up from', isInvestable && formatAmounts(plan.minTopUpAmounts), label('minTopUpAmounts')],
      ['Risk', productRiskLevel?.name, label('productRiskLevel')],
      ['Lock-in', formatDays(plan.lockInPeriod), label('lockInPeriod')],
    ])}`
}

export function renderClosedNote({ nonInvestableNote }: Plan, label: LabelFields): Markup {
  return html`<div class="card-note">
    <strong>Closed to new investment</strong>${label('isInvestable')}
    <p>${nonInvestableNote}${label('nonInvestableNote')}</p>
  </div>`
}

/** Renders the part of a card that opens with the button "About". */
export function renderDetails(plan: Plan, label = noLabel): Markup {
  const { fundManager, planType, fundCurrency } = plan
  return html`<h3>${plan.name}${label('name')}</h3>
    <p>${plan.about}${label('about')}</p>
    ${renderFacts('details', [
      ['Managed by', fundManager?.name, label('fundManager')],
      ['Type', planType?.name, label('planType')],
      ['Invests in', plan.sector, label('sector')],
      ['Term', plan.tenor, label('tenor')],
      ['Partial withdrawal', plan.partialWithdrawable ? 'Possible' : 'Not possible', label('partialWithdrawable')],
      ['Returns', plan.profitTypeDescription, label('profitTypeDescription')],
      ['Currency of the fund', fundCurrency?.currency, label('fundCurrency')],
    ])}
    <p class="card-links">
      <span><a href="${plan.factSheet}" rel="noreferrer">Fact sheet</a>${label('factSheet')}</span>
      <span><a href="${plan.prospectus}" rel="noreferrer">Prospectus</a>${label('prospectus')}</span>
      <span><a href="${plan.imageUrl}" rel="noreferrer">Artwork</a>${label('imageUrl')}</span>
      <span><a href="${plan.thumbnail}" rel="noreferrer">Thumbnail</a>${label('thumbnail')}</span>
    </p>`
}

/** Renders a list of facts, without those whose value is empty, false or undefined. */
function renderFacts(
  className: string,
  facts: readonly (readonly [term: string, value: string | false | undefined, label: Markup | string])[],
) {
  return html`<dl class="${className}">
    ${facts.map(
      ([term, value, label]) =>
        value &&
        html`<div>
          <dt>${term}</dt>
          <dd>${value}${label}</dd>
        </div>`,
    )}
  </dl>`
}

/** The range of the bars, in percent per year: from the lowest to the highest return of a list. Includes zero. */
interface Scale {
  top: number
  bottom: number
}

/** Computes the scale of a list. Without any return, both ends are zero. */
export function computeScale(plans: readonly Plan[]): Scale {
  const values = plans.flatMap(listReturns).flatMap(({ value }) => (value === null ? [] : [value]))
  return { top: Math.max(0, ...values), bottom: Math.min(0, ...values) }
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

const notAvailable = html`<span class="unknown"
  ><span aria-hidden="true">–</span><span class="visually-hidden">not available</span></span
>`

function renderReturns(plan: Plan, scale: Scale, label: LabelFields): Markup {
  const returns = listReturns(plan)
  if (returns.every(({ value }) => value === null)) return html``
  const currency = html`${plan.currency}${label('currency')}`
  const day = html`${dateFormat.format(new Date(plan.performanceDate))}${label('performanceDate')}`
  return html`<div class="returns">
    <p>Annualized return in ${currency} as of ${day}</p>
    <dl>
      ${returns.map(
        ({ years, value }) =>
          html`<div>
            <dt>${years} ${years === 1 ? 'year' : 'years'}</dt>
            <dd>${value === null ? notAvailable : `${percentFormat.format(value)}%`} ${renderBar(value, scale)}</dd>
          </div>`,
      )}
    </dl>
    ${label('performance1', 'performance3', 'performance5', 'performance10')}
    <p class="caution">Past returns do not guarantee future returns.</p>
  </div>`
}

/** Renders a bar from zero to the return, and the line of zero. @param value percent per year; null draws only the line of zero */
function renderBar(value: number | null, { top, bottom }: Scale): Markup {
  // If all returns are zero, the range is empty.
  const range = top - bottom || 1
  const toY = (percentPerYear: number) => (barHeight * (top - percentPerYear)) / range
  return html`<svg viewBox="0 0 40 ${barHeight}" preserveAspectRatio="none" aria-hidden="true">
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
  </svg>`
}

const numberFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 15 })
const percentFormat = new Intl.NumberFormat('en', {
  minimumFractionDigits: 1,
  maximumFractionDigits: 2,
  signDisplay: 'negative',
})
const dateFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

function formatAmounts(amounts: Plan['minInvestableAmounts']): string {
  const texts = Object.entries(amounts).map(([currency, amount]) =>
    amount === 0 ? `any amount in ${currency}` : `${currency}\u00a0${numberFormat.format(amount)}`,
  )
  return texts.join(' or ').replace(/^any/, 'Any')
}

function formatDays(days: number): string {
  if (days === 0) return 'None'
  return days === 1 ? '1 day' : `${numberFormat.format(days)} days`
}
