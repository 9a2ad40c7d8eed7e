// The two calls by hand, each with what went out and what came back. src/site/browser/try-calls.ts makes them.
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'
import { clientFields, needsProgram, secretNote, shortNameField } from './sign-in-form.ts'

/** A form without its program would post to nowhere: the site's policy allows no form to send anything. */
export function renderTry(): Markup {
  return html`<article class="tool">
    <header>
      <h1>Try it</h1>
      <p>The two calls, against this very service. ${secretNote}</p>
      ${needsProgram}
    </header>
    <section aria-labelledby="token-heading">
      <h2 id="token-heading">1. Get a token</h2>
      <form id="token-form" class="form" method="post" autocomplete="off">
        ${clientFields}
        <button class="primary">Get a token</button>
      </form>
      <div id="token-outcome" class="outcome" role="status"></div>
      <div id="token-answer" class="answer"></div>
    </section>
    <section aria-labelledby="plans-heading">
      <h2 id="plans-heading">2. List the plans</h2>
      <form id="plans-form" class="form" method="post" autocomplete="off">
        <label class="whole">
          Access token
          <textarea name="accessToken" rows="4" autocapitalize="off" spellcheck="false"></textarea>
        </label>
        ${shortNameField}
        <label>categoryId <input name="categoryId" inputmode="numeric" placeholder="any" /></label>
        <label>fundType <input name="fundType" placeholder="any" autocapitalize="off" spellcheck="false" /></label>
        <label>currency <input name="currency" placeholder="any" autocapitalize="off" spellcheck="false" /></label>
        <label class="check whole">
          <input name="isConditional" type="checkbox" /> Only if it has changed: send the ETag of the last list as
          If-None-Match
        </label>
        <button class="primary">List the plans</button>
      </form>
      <div id="plans-outcome" class="outcome" role="status"></div>
      <div id="plans-answer" class="answer"></div>
    </section>
  </article>`
}
