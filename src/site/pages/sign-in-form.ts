// What the pages that take credentials have in common.
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'

export const secretNote = html`Your credentials stay in this page’s memory, and go nowhere but to the API: leave the
page, and they are gone.`

export const needsProgram = html`<noscript>
  <p class="callout">
    This page needs JavaScript, which is off in your browser. <a href="/#two-calls">The start page</a> has the same
    calls for a terminal.
  </p>
</noscript>`

export const clientFields = html`<label
    >Client ID <input name="clientId" required autocapitalize="off" spellcheck="false"
  /></label>
  <label>Client secret <input name="clientSecret" type="password" required autocomplete="off" /></label>`

export const shortNameField: Markup = html`<label
  >Short name
  <input
    name="shortName"
    required
    pattern="\\s*[a-z0-9\\-]{2,32}\\s*"
    title="2 to 32 lower-case letters, digits and hyphens"
    autocapitalize="off"
    spellcheck="false"
/></label>`
