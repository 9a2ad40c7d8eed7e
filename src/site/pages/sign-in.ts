// What the pages that take credentials say of them.
import { html } from 'hono/html'

export const secretNote = html`Your credentials stay in this page’s memory: reload it, and they are gone. They go
nowhere but to the API.`

export const needsProgram = html`<noscript>
  <p class="callout">
    This page calls the API with a program, and programs are switched off in your browser.
    <a href="/">The start page</a>
    has the same calls for a terminal.
  </p>
</noscript>`
