// The page that makes both API calls by hand and shows requests and responses. Its program is browser/try-calls.ts.
import { html } from 'hono/html'
import { planFilters } from '../../catalog/plan-filters.ts'
import { reproductions } from '../error-reproductions.ts'
import type { Markup } from '../page-shell.ts'
import { clientFields, javaScriptNotice, secretNote, shortNameField } from './credential-fields.ts'

/** The forms only work with the page's program: the site's Content-Security-Policy forbids to submit them. */
export function renderTry(): Markup {
  return html`<article class="tool">
    <header>
      <h1>Try it</h1>
      <p>Make both API calls, to this service. ${secretNote}</p>
      ${javaScriptNotice}
    </header>
    <section aria-labelledby="token-heading">
      <h2 id="token-heading">1. Get a token</h2>
      <form id="token-form" class="form" method="post" autocomplete="off">
        ${clientFields}
        <button class="primary" type="submit">Get a token</button>
      </form>
      <div id="token-outcome" class="outcome" role="status"></div>
      <div id="token-response" class="response"></div>
    </section>
    <section aria-labelledby="plans-heading">
      <h2 id="plans-heading">2. List the plans</h2>
      <form id="plans-form" class="form" method="post" autocomplete="off">
        <label class="whole">
          Access token
          <textarea name="accessToken" rows="4" autocapitalize="off" spellcheck="false"></textarea>
        </label>
        ${shortNameField}
        ${Object.entries(planFilters).map(
          ([name, { schema }]) =>
            html`<label
              >${name}
              <input
                name="${name}"
                placeholder="any"
                inputmode="${schema.type === 'integer' ? 'numeric' : 'text'}"
                autocapitalize="off"
                spellcheck="false"
            /></label> `,
        )}
        <label class="check whole">
          <input name="isConditional" type="checkbox" /> Only if the list has changed: send the ETag of the last list as
          If-None-Match
        </label>
        <button class="primary" type="submit">List the plans</button>
      </form>
      <div id="plans-outcome" class="outcome" role="status"></div>
      <div id="plans-response" class="response"></div>
    </section>
    <section aria-labelledby="reproduce">
      <h2 id="reproduce">3. Reproduce an error</h2>
      <p>
        Each button sends a request that is refused with this code. They use the client ID, token and short name from
        above. No request causes the other codes: <a href="/errors">Errors</a> has the causes and fixes.
      </p>
      <p class="reproductions">
        ${Object.entries(reproductions).map(
          ([code, reproduction]) =>
            !('prefer' in reproduction) &&
            html`<button class="quiet" type="button" data-reproduce="${code}">${code}</button> `,
        )}
      </p>
      <div id="reproduction-outcome" class="outcome" role="status"></div>
      <div id="reproduction-response" class="response"></div>
    </section>
  </article>`
}
