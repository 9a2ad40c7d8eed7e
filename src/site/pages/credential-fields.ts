// The parts that the two pages with credential forms share.
import { html } from 'hono/html'

export const secretNote = html`This page keeps your credentials in memory, sends them only to the API and forgets them
when you leave.`

export const javaScriptNotice = html`<noscript>
  <p class="callout">
    This page needs JavaScript, which is turned off in your browser. The <a href="/#two-calls">start page</a> shows how
    to make the same calls in a terminal.
  </p>
</noscript>`

export const clientFields = html`<label
    >Client ID <input name="clientId" required pattern=".*\\S.*" autocapitalize="off" spellcheck="false"
  /></label>
  <label
    >Client secret <input name="clientSecret" type="password" required pattern=".*\\S.*" autocomplete="off"
  /></label>`

export const shortNameField = html`<label
  >Short name
  <input
    name="shortName"
    required
    pattern="\\s*[a-z0-9\\-]{2,32}\\s*"
    title="2 to 32 lowercase letters, digits and hyphens"
    autocapitalize="off"
    spellcheck="false"
/></label>`
