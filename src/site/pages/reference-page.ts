// The API reference. src/site/browser/api-reference.ts draws openapi.json into it with Redoc.
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'

export function renderReference(): Markup {
  return html`<div id="reference">
    <noscript>
      <main class="prose">
        <h1>API reference</h1>
        <p>
          This page needs JavaScript, which is turned off in your browser. These pages work without it:
          <a href="/openapi.json">openapi.json</a>, <a href="/filters">Plans and filters</a>,
          <a href="/plan-fields">Plan fields</a> and <a href="/errors">Errors</a>.
        </p>
      </main>
    </noscript>
  </div>`
}
