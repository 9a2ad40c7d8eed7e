// Renders a plan as a card: on the start page and in the picture of the guide when the site is built, and in the browser on "Try it". Pure.
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

/** Returns what stands behind a value: nothing on a card, and the names of its fields in blocks/card-picture.ts. */
export type NameFields = (...fields: (keyof Plan)[]) => Markup | string
const nameNone: NameFields = () => ''

export function renderFace(plan: Plan, scale: Scale, name = nameNone): Markup {
  const { category, productRiskLevel, isInvestable } = plan
  return html`${category && html`<p class="card-category">${category.displayName}${name('category')}</p>`}
    <h2>${plan.coolName}${name('coolName')}</h2>
    <p class="card-hint">${plan.hint}${name('hint')}</p>
    ${!isInvestable && renderNote(plan, name)} ${renderReturns(plan, scale, name)}
    ${renderFacts('facts', [
      ['Start with', isInvestable && formatAmounts(plan.minInvestableAmounts), name('minInvestableAmounts')],
      ['Top up from', isInvestable && formatAmounts(plan.minTopUpAmounts), name('minTopUpAmounts')],
      ['Risk', productRiskLevel?.name, name('productRiskLevel')],
      ['Lock-in', formatDays(plan.lockInPeriod), name('lockInPeriod')],
    ])}`
}

export function renderNote({ nonInvestableNote }: Plan, name: NameFields): Markup {
  return html`<div class="card-note">
    <strong>Closed to new investment</strong>${name('isInvestable')}
    <p>${nonInvestableNote}${name('nonInvestableNote')}</p>
  </div>`
}

export function renderDetails(plan: Plan, name = nameNone): Markup {
  const { fundManager, planType, fundCurrency } = plan
  return html`<h3>${plan.name}${name('name')}</h3>
    <p>${plan.about}${name('about')}</p>
    ${renderFacts('details', [
      ['Managed by', fundManager?.name, name('fundManager')],
      ['Type', planType?.name, name('planType')],
      ['Invests in', plan.sector, name('sector')],
      ['Term', plan.tenor, name('tenor')],
      ['Partial withdrawal', plan.partialWithdrawable ? 'Possible' : 'Not possible', name('partialWithdrawable')],
      ['Returns', plan.profitTypeDescription, name('profitTypeDescription')],
      ['Currency of the fund', fundCurrency?.currency, name('fundCurrency')],
    ])}
    <p class="card-links">
      <span><a href="${plan.factSheet}" rel="noreferrer">Fact sheet</a>${name('factSheet')}</span>
      <span><a href="${plan.prospectus}" rel="noreferrer">Prospectus</a>${name('prospectus')}</span>
      <span><a href="${plan.imageUrl}" rel="noreferrer">Artwork</a>${name('imageUrl')}</span>
      <span><a href="${plan.thumbnail}" rel="noreferrer">Thumbnail</a>${name('thumbnail')}</span>
    </p>`
}

/** Hides the label of a fact that is not known. */
function renderFacts(
  className: string,
  facts: readonly (readonly [string, string | false | undefined, Markup | string])[],
) {
  return html`<dl class="${className}">
    ${facts.map(
      ([term, description, names]) =>
        description &&
        html`<div>
          <dt>${term}</dt>
          <dd>${description}${names}</dd>
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

function renderReturns(plan: Plan, { top, bottom }: Scale, name: NameFields): Markup {
  const returns = listReturns(plan)
  if (returns.every(({ value }) => value === null)) return html``
  const currency = html`${plan.currency}${name('currency')}`
  const day = html`${formatDate(plan.performanceDate)}${name('performanceDate')}`
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
    ${name('performance1', 'performance3', 'performance5', 'performance10')}
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
