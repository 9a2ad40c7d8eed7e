// The two calls by hand, each with what went out and what came back. src/site/browser/try.ts makes them.
import { html } from 'hono/html'
import type { Markup } from '../page.ts'
import { needsProgram, secretNote } from './sign-in.ts'

export function renderTry(): Markup {
  return html`<article class="tool">
    <header>
      <h1>Try it</h1>
      <p>The two calls, against this very service. ${secretNote}</p>
      ${needsProgram}
    </header>
    <section aria-labelledby="token-heading">
      <h2 id="token-heading">1. Get a token</h2>
      <form id="token-form" class="form" autocomplete="off">
        <label>Client ID <input name="clientId" required autocapitalize="off" spellcheck="false" /></label>
        <label>Client secret <input name="clientSecret" type="password" required autocomplete="off" /></label>
        <button class="primary">Get a token</button>
      </form>
      <div id="token-answer" aria-live="polite"></div>
    </section>
    <section aria-labelledby="plans-heading">
      <h2 id="plans-heading">2. List the plans</h2>
      <form id="plans-form" class="form" autocomplete="off">
        <label class="whole">
          Access token
          <textarea name="accessToken" rows="3" autocapitalize="off" spellcheck="false"></textarea>
        </label>
        <label>Short name <input name="shortName" required autocapitalize="off" spellcheck="false" /></label>
        <label>categoryId <input name="categoryId" inputmode="numeric" placeholder="any" /></label>
        <label>fundType <input name="fundType" placeholder="any" autocapitalize="off" spellcheck="false" /></label>
        <label>currency <input name="currency" placeholder="any" autocapitalize="off" spellcheck="false" /></label>
        <label class="check whole">
          <input name="isConditional" type="checkbox" /> Only if it has changed: send the ETag of the last list as
          If-None-Match
        </label>
        <button class="primary">List the plans</button>
      </form>
      <div id="plans-answer" aria-live="polite"></div>
    </section>
  </article>`
}
