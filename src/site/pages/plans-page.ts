// The page that shows a partner its plans as cards. Its program is browser/plan-cards.ts.
import { html } from 'hono/html'
import { planFilters } from '../../catalog/plan-filters.ts'
import type { Markup } from '../page-shell.ts'
import { clientFields, javaScriptNotice, secretNote, shortNameField } from './credential-fields.ts'

export function renderPlans(): Markup {
  return html`<article class="gallery">
    <header>
      <h1>Your plans</h1>
      <p>The plans that the API returns to you, as your customers might see them. ${secretNote}</p>
      ${javaScriptNotice}
    </header>
    <form id="sign-in" class="form" method="post" autocomplete="off">
      ${clientFields} ${shortNameField}
      <button class="primary" type="submit">Show my plans</button>
    </form>
    <!-- [html-validate-disable-next wcag/h32 -- each change applies at once, so there is nothing to submit] -->
    <form id="filters" class="form" method="post" autocomplete="off" hidden>
      ${Object.entries(planFilters).map(
        ([name, { label }]) =>
          html`<label
            >${label}
            <select name="${name}"></select
          ></label> `,
      )}
    </form>
    <div id="failure" role="alert"></div>
    <div class="bar">
      <p id="count" role="status" tabindex="-1"></p>
      <button class="quiet" type="button" id="sign-out" hidden>Sign out</button>
    </div>
    <div id="cards"></div>
  </article>`
}
