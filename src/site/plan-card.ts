// Renders a plan as a card: when the site is built, for the start page and the guide "Plans and filters", and in the browser on "Try it".
// Pure.
import { html } from 'hono/html'
import { renderArtwork } from './plan-artwork.ts'
import type { Plan } from '../catalog/plan-schema.ts'
import type { Markup } from './page-shell.ts'

/** @param scale must be the same for all cards of a list, so that their bars can be compared. */
export function renderCard(plan: Plan, scale: Scale): Markup {
  const details = `about-${plan.identifier}`
  return html`<article class="card" data-identifier="${plan.identifier}">
    <div class="art">${renderArtwork(plan.identifier)}</div>
    <div class="card-body">
      ${renderFace(plan, scale)}
      <button class="about" type="button" popovertarget="${details}">
        About <span class="visually-hidden">${plan.coolName}</span>
      </button>
      <div class="about-plan" id="${details}" popover>${renderDetails(plan)}</div>
    </div>
  </article>`
}

/** Returns the markup behind the value of these fields: none on a card. In blocks/card-picture.ts, it is the names of the fields. */
export type LabelFields = (...fields: (keyof Plan)[]) => Markup | string
const noLabel: LabelFields = () => ''

/** Renders the part of a card that is always visible. */
export function renderFace(plan: Plan, scale: Scale, label = noLabel): Markup {
  const { category, productRiskLevel, isInvestable } = plan
  return html`${category && html`<p class="card-category">${category.displayName}${label('category')}</p>`}
    <h2>${plan.coolName}${label('coolName')}</h2>
    <p class="card-hint">${plan.hint}${label('hint')}</p>
    ${!isInvestable && renderNote(plan, label)} ${renderReturns(plan, scale, label)}
    ${renderFacts('facts', [
      ['Start with', isInvestable && formatAmounts(plan.minInvestableAmounts), label('minInvestableAmounts')],
      ['Top up from', isInvestable && formatAmounts(plan.minTopUpAmounts), label('minTopUpAmounts')],
      ['Risk', productRiskLevel?.name, label('productRiskLevel')],
      ['Lock-in', formatDays(plan.lockInPeriod), label('lockInPeriod')],
    ])}`
}

/** Renders why a plan takes no new investment. */
export function renderNote({ nonInvestableNote }: Plan, label: LabelFields): Markup {
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

/** Leaves out a fact whose value is not known. */
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

function renderReturns(plan: Plan, { top, bottom }: Scale, label: LabelFields): Markup {
  const returns = listReturns(plan)
  if (returns.every(({ value }) => value === null)) return html``
  const currency = html`${plan.currency}${label('currency')}`
  const day = html`${formatDate(plan.performanceDate)}${label('performanceDate')}`
  const toY = (value: number) => (barHeight * (top - value)) / (top - bottom || 1)
  return html`<div class="returns">
    <p>Annualized return in ${currency} as of ${day}</p>
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
    ${label('performance1', 'performance3', 'performance5', 'performance10')}
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
