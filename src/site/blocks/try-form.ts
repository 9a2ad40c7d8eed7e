// The block of the page "Try it": a link to the sandbox, or a form with empty elements that browser/try.ts fills.
import { html } from 'hono/html'
import { planFilters } from '../../catalog/plan-filters.ts'
import type { Block } from '../markdown.ts'

/**
 * Creates the form. On a deployed service that is not the sandbox, creates a link to the sandbox instead. Only browser/try.ts reads
 * the form: the site's Content-Security-Policy forbids browsers to submit it.
 * @param origin the origin of this service, empty if it is not known. Without https, the service is not deployed.
 * @param sandboxOrigin null if there is no sandbox; then every service has the form
 */
export function createTryForm(origin: string, sandboxOrigin: string | null): Block {
  const isDeployed = origin.startsWith('https:')
  if (sandboxOrigin !== null && isDeployed && origin !== new URL(sandboxOrigin).origin)
    return `[Go to the sandbox](${new URL('/try', sandboxOrigin).href}), with your credentials of the sandbox. Ask [support](/support) for them.`
  const markup = html`<p>
      Fill in the credentials of a test partner, not those of your server: <a href="/support">support</a> has some for
      you. This page keeps them in memory only, sends them only to the API, and forgets them when you leave.
    </p>
    <noscript>
      <p class="callout">
        This page needs JavaScript, which is turned off in your browser. The <a href="/#two-calls">start page</a> shows
        how to make the same calls in a terminal.
      </p>
    </noscript>
    <form id="try" class="form" method="post" autocomplete="off">
      <label
        >Client ID <input name="clientId" required pattern=".*\\S.*" autocapitalize="off" spellcheck="false"
      /></label>
      <label
        >Client secret <input name="clientSecret" type="password" required pattern=".*\\S.*" autocomplete="off"
      /></label>
      <label
        >Short name
        <input
          name="shortName"
          required
          pattern="\\s*[a-z0-9\\-]{2,32}\\s*"
          title="2 to 32 lowercase letters, digits and hyphens"
          autocapitalize="off"
          spellcheck="false"
      /></label>
      ${Object.entries(planFilters).map(
        ([name, { label }]) =>
          html`<label
            >${label}
            <input name="${name}" list="${name}" placeholder="any" autocapitalize="off" spellcheck="false" />
            <datalist id="${name}"></datalist>
          </label> `,
      )}
      <div class="whole actions">
        <button class="primary" type="submit">List the plans</button>
        <button class="quiet" type="reset">Forget everything</button>
      </div>
    </form>
    <div id="outcome" role="status"></div>
    <div id="exchanges"></div>
    <div id="cards"></div>
    <script type="module" src="/browser/try.js"></script>`
  return { html: markup, markdown: 'The page has a form for the credentials of a test partner and the filters.' }
}
