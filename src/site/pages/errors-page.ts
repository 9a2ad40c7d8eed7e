// Every error code with its cause and mend, from the table that the Worker answers by.
import { html } from 'hono/html'
import { refusals } from '../../worker/http/api-error.ts'
import { advice, isErrorCode } from '../error-advice.ts'
import { renderCode } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'

const codes = Object.keys(refusals).filter(isErrorCode)

export function renderErrors(): Markup {
  const requestId = '43462e96-44fc-4132-ae0f-c867b3032b99'
  const example = { message: refusals.forbidden.message, error: 'forbidden', requestId }
  return html`<article class="prose">
    <h1>Errors</h1>
    <p>Every answer of the API outside 2xx and 304 has one shape, on every path that is not a file of this site:</p>
    ${renderCode(JSON.stringify(example, null, 2), 'json')}
    <p>
      <code>message</code> is for people, and its wording may change; it often says more than the table below.
      <code>error</code> is for programs, and stays. <code>requestId</code> names the request, and is in the
      <code>X-Request-Id</code> header of every answer, too: quote it when you ask for help.
    </p>
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">status</th>
            <th scope="col">error</th>
            <th scope="col">message</th>
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
        </section>`,
    )}
  </article>`
}
