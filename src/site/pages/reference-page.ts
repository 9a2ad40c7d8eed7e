// The reference: Redoc draws openapi.json in the browser.
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'

export function renderReference(): Markup {
  return html`<div id="reference">
    <noscript>
      <main class="prose">
        <h1>API reference</h1>
        <p>
          The reference needs JavaScript, which is off in your browser. Without it there are
          <a href="/openapi.json">openapi.json</a>, <a href="/filters">plans and filters</a>,
          <a href="/plan-fields">plan fields</a> and <a href="/errors">errors</a>.
        </p>
      </main>
    </noscript>
  </div>`
}
