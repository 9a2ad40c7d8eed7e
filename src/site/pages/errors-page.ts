// Every error code with its cause and fix. Status and message come from the table that the Worker uses.
import { html } from 'hono/html'
import { support } from '../../api/promises.ts'
import { refusals, type ErrorCode } from '../../api/error-codes.ts'
import { advice, isErrorCode } from '../error-advice.ts'
import { formatCurl, formatMockCurl, reproductions } from '../error-reproductions.ts'
import { renderCode } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'

const codes = Object.keys(refusals).filter(isErrorCode)

export function renderErrors(): Markup {
  const requestId = '43462e96-44fc-4132-ae0f-c867b3032b99'
  const example = { message: refusals.forbidden.message, error: 'forbidden', requestId }
  return html`<article class="prose">
    <h1>Errors</h1>
    <p>
      Every API response with a status other than 2xx and 304 has a JSON body of this form, except the response to HEAD
      and <a href="#error-code-1010">error code: 1010</a>:
    </p>
    ${renderCode(JSON.stringify(example, null, 2), 'json')}
    <p>
      <code>message</code> is for people. It often says more than the table below, and its wording can change.
      <code>error</code> is a stable code for programs. <code>requestId</code> identifies the request. It is also in the
      <code>X-Request-Id</code> header of every response; include it when you contact
      <a href="mailto:${support.email}">support</a>. Errors of the token endpoint also have
      <code>error_description</code>, with the text of <code>message</code>: OAuth 2 libraries show it.
    </p>
    <div class="table" tabindex="0">
      <table>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Error</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          ${codes.map(
            (code) =>
              html`<tr>
                <td>${refusals[code].status}</td>
                <td>
                  <a href="#${code}"><code>${code}</code></a>
                </td>
                <td>${refusals[code].message}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    <h2 id="reproduce">Reproduce an error</h2>
    <p>
      See each error before your customers do. The requests below change nothing, and they don’t lock your account. They
      use the variables of the <a href="/">start page</a> and a token, which you get with this command.
      <a href="/try#reproduce">Try it</a> has a button for every code that a request can cause.
    </p>
    ${renderCode(`TOKEN=$(printf 'user = "%s:%s"' "$CLIENT_ID" "$CLIENT_SECRET" |\n  curl -sS --config - -X POST "$API/api/v3/partners/auth" | jq -r .access_token)`, 'sh')}
    ${codes.map(
      (code) =>
        html`<section>
          <h2 id="${code}"><span class="status">${refusals[code].status}</span> <code>${code}</code></h2>
          <dl class="advice">
            <div>
              <dt>Cause</dt>
              <dd>${advice[code].cause}</dd>
            </div>
            <div>
              <dt>Fix</dt>
              <dd>${advice[code].fix}</dd>
            </div>
          </dl>
          ${renderReproduction(code)}
        </section>`,
    )}
    <section>
      <h2 id="error-code-1010"><span class="status">403</span> <code>error code: 1010</code></h2>
      <p>This text, or a page of HTML, comes from the network before our service: the request never reached it.</p>
      <dl class="advice">
        <div>
          <dt>Cause</dt>
          <dd>
            The <code>User-Agent</code> of the request is missing, or the default of an HTTP library, such as
            <code>Python-urllib/3.13</code>.
          </dd>
        </div>
        <div>
          <dt>Fix</dt>
          <dd>
            Send a <code>User-Agent</code> of your own, such as <code>acme-catalog/1.0</code>. Also tell
            <a href="mailto:${support.email}">support</a>: we can switch this check off.
          </dd>
        </div>
      </dl>
    </section>
  </article>`
}

function renderReproduction(code: ErrorCode): Markup {
  const reproduction = reproductions[code]
  if (!('prefer' in reproduction))
    return html`<p>Reproduce it:</p>
      ${renderCode(formatCurl(reproduction), 'sh')}`
  return html`<p>${reproduction.reason} Make the <a href="/testing#mock-server">mock server</a> return it:</p>
    ${renderCode(formatMockCurl(reproduction), 'sh')}`
}
