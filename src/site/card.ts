// A plan as a partner's customers might see it: on the start page while the site is built, and in the browser. Pure.
import { html } from 'hono/html'
import { renderArtwork } from './artwork.ts'
import type { Amounts, Plan } from './client/investment-plans.ts'
import type { Markup } from './page.ts'

export function renderCard(plan: Plan): Markup {
  const { category, productRiskLevel, fundManager } = plan
  return html`<article class="card" data-identifier="${plan.identifier}">
    <div class="art" data-image="${plan.imageUrl}">${renderArtwork(plan.identifier)}</div>
    <div class="card-body">
      <p class="card-category">${category?.displayName ?? plan.sector}</p>
      <h2>${plan.coolName}</h2>
      <p class="card-hint">${plan.hint}</p>
      ${
        !plan.isInvestable &&
        html`<p class="card-note"><strong>Closed to new investment.</strong> ${plan.nonInvestableNote}</p>`
      }
      ${renderReturns(plan)}
      <dl class="facts">
        <div>
          <dt>Start with</dt>
          <dd>${formatAmounts(plan.minInvestableAmounts)}</dd>
        </div>
        <div>
          <dt>Top up from</dt>
          <dd>${formatAmounts(plan.minTopUpAmounts)}</dd>
        </div>
        <div>
          <dt>Risk</dt>
          <dd>${productRiskLevel?.name ?? 'Not rated'}</dd>
        </div>
        <div>
          <dt>Lock-in</dt>
          <dd>${formatDays(plan.lockInPeriod)}</dd>
        </div>
      </dl>
      <details>
        <summary>About <span class="visually-hidden">${plan.coolName}</span></summary>
        <p>${plan.about}</p>
        <dl class="details">
          ${[
            ['Formal name', plan.name],
            ['Managed by', fundManager?.name ?? 'Not stated'],
            ['Type', plan.planType?.name ?? plan.fundType],
            ['Term', plan.tenor],
            ['Partial withdrawal', plan.partialWithdrawable ? 'Possible' : 'Not possible'],
            ['Profit', plan.profitTypeDescription],
          ].map(
            ([term, description]) =>
              html`<div>
                <dt>${term}</dt>
                <dd>${description}</dd>
              </div>`,
          )}
        </dl>
        <p class="card-links">
          <a href="${plan.factSheet}" rel="noreferrer">Fact sheet</a>
          <a href="${plan.prospectus}" rel="noreferrer">Prospectus</a>
        </p>
      </details>
    </div>
  </article>`
}

const barHeight = 44

const unknown = html`<span class="unknown"
  ><span aria-hidden="true">–</span><span class="visually-hidden">unknown</span></span
>`

/** Bars of one scale, from the lowest to the highest of them and zero; what is not known has none. */
function renderReturns(plan: Plan): Markup {
  const returns = [
    [1, plan.performance1],
    [3, plan.performance3],
    [5, plan.performance5],
    [10, plan.performance10],
  ] as const
  const known = returns.flatMap(([, value]) => value ?? [])
  if (known.length === 0) return html`<p class="no-returns">No returns are known yet.</p>`
  const [top, bottom] = [Math.max(0, ...known), Math.min(0, ...known)]
  const yOf = (value: number) => (barHeight * (top - value)) / (top - bottom || 1)
  return html`<div class="returns">
    <p>Yearly return as of ${formatDate(plan.performanceDate)}</p>
    <dl>
      ${returns.map(
        ([years, value]) =>
          html`<div>
            <dt>${years} ${years === 1 ? 'year' : 'years'}</dt>
            <dd>
              ${value === null ? unknown : formatPercent(value)}
              <svg viewBox="0 0 40 ${barHeight}" preserveAspectRatio="none" aria-hidden="true">
                <rect class="zero" y="${yOf(0) - 0.5}" width="40" height="1" />
                ${
                  value !== null &&
                  html`<rect
                    class="${value < 0 ? 'loss' : 'gain'}"
                    y="${Math.min(yOf(value), yOf(0))}"
                    width="40"
                    height="${Math.abs(yOf(value) - yOf(0))}"
                  />`
                }
              </svg>
            </dd>
          </div>`,
      )}
    </dl>
  </div>`
}

const decimal = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })

function formatAmounts(amounts: Amounts): string {
  const formatted = Object.entries(amounts).map(([currency, amount]) => `${currency}\u00a0${decimal.format(amount)}`)
  return formatted.join(' or ') || 'Any amount'
}

function formatDays(days: number): string {
  if (days === 0) return 'None'
  return days === 1 ? '1 day' : `${decimal.format(days)} days`
}

function formatPercent(value: number): string {
  return `${decimal.format(value)}%`
}

function formatDate(isoDate: string): string {
  return date.format(new Date(isoDate))
}
