// How partners' developers test their programs: the cases of the sandbox, a mock server, API tools, and errors.
import { html } from 'hono/html'
import { support } from '../../api/promises.ts'
import { demoCases } from '../../catalog/demo-cases.ts'
import { exampleOrigin } from '../example-origin.ts'
import { renderTable } from '../field-table.ts'
import { renderCode, renderInline } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'

export function renderTesting(): Markup {
  return html`<article class="prose">
    <h1>Testing</h1>
    <p>Test your program with the cases of the sandbox. For tests without credentials, run the mock server.</p>

    <h2 id="sandbox">Sandbox</h2>
    <p>
      The sandbox is a second service with an address of its own and invented plans. It runs the same code, but our
      <a href="/promises">promises</a> don’t hold there. A partner sees the plans of its country, so each case has a
      country:
    </p>
    ${renderTable(
      ['country', 'its list holds', 'your program'],
      Object.entries(demoCases).map(([country, { list, program }]) => ({
        id: country,
        name: country,
        cells: [list, renderInline(program)],
      })),
    )}
    <p>
      Ask <a href="mailto:${support.email}">support</a> for the address of the sandbox, and for credentials in each
      country that you want to test. The longest texts of EG contain the positions of their characters, so you see where
      a program cut them.
    </p>

    <h2 id="mock-server">Mock server</h2>
    <p>
      The Prism mock server answers with the examples of <a href="/openapi.json">openapi.json</a>. It listens at
      <code>http://127.0.0.1:4010</code>:
    </p>
    ${renderCode(`npx @stoplight/prism-cli mock ${exampleOrigin}/openapi.json`, 'sh')}

    <h2 id="api-tools">Postman, Bruno and other tools</h2>
    <p>Import <a href="/openapi.json">openapi.json</a>. In the request “List the plans of your country”:</p>
    <ul>
      <li>
        The authorization is OAuth 2 with client credentials, and the token URL is filled in. Fill in your client ID and
        secret, send them as a Basic header, and get a token.
      </li>
      <li>Fill in your short name. Switch off the filters and <code>If-None-Match</code>, which have examples.</li>
    </ul>

    <h2 id="errors">Errors</h2>
    <p>
      <a href="/errors">Errors</a> has a request for each error code: to the service, or to the mock server for codes
      that you can’t or should not cause. <a href="/try#reproduce">Try it</a> sends requests to the service from your
      browser.
    </p>
  </article>`
}
