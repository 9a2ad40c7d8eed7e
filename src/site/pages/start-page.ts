// The start page: how a developer gets from credentials to the first list of plans.
import { html } from 'hono/html'
import { renderCard, computeScale } from '../plan-card.ts'
import { examplePlan } from '../../catalog/example-plan.ts'
import { exampleOrigin } from '../example-origin.ts'
import { readSiteFile, renderCode } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'

const samples = [
  { file: 'curl.sh', label: 'curl', language: 'sh', run: 'sh curl.sh' },
  { file: 'javascript.mjs', label: 'JavaScript', language: 'javascript', run: 'node javascript.mjs' },
  { file: 'python.py', label: 'Python', language: 'python', run: 'python3 python.py' },
  { file: 'php.php', label: 'PHP', language: 'php', run: 'php php.php' },
  { file: 'go.go', label: 'Go', language: 'go', run: 'go run go.go' },
] as const

export const sampleFiles = samples.map(({ file }) => file)

/** All prompts are on the last line: `read` would take a line pasted after it as the reply. */
const setUp = `export API=${exampleOrigin}
ask() { printf '%s: ' "$1"; read -r "$2"; export "$2"; }
ask 'Client ID' CLIENT_ID; ask 'Short name' SHORT_NAME; stty -echo; ask 'Client secret' CLIENT_SECRET; stty echo`

const wire = `POST /api/v3/partners/auth
Authorization: Basic …

GET /api/v3/partners/your-short-name/plans
Authorization: Bearer …`

export function renderStart(): Markup {
  const { identifier, coolName, hint, performance1, currency, minInvestableAmounts } = examplePlan
  const excerpt = JSON.stringify({ identifier, coolName, hint, performance1, currency, minInvestableAmounts }, null, 2)
  return html`<article class="prose">
    <div class="hero">
      <div>
        <h1>List the plans you can offer, in two API calls</h1>
        <p class="lead">
          Your server exchanges its client ID and secret for an access token, then lists the investment plans of your
          country: names, returns, minimum amounts and documents, ready to show to your customers.
        </p>
        <p class="actions">
          <a class="primary" href="#two-calls">Get your first list</a>
          <a class="quiet" href="/try">Try it in the browser</a>
        </p>
        ${renderCode(excerpt.replace(/\n\}$/, ',\n  …\n}'), 'json')}
      </div>
      ${renderCard(examplePlan, computeScale([examplePlan]))}
    </div>

    <h2 id="two-calls">The two calls</h2>
    ${renderCode(wire, 'http')}
    <p>
      First get a <a href="/tokens">token</a>, then list the <a href="/filters">plans</a>. To do this in a terminal,
      follow the three steps below. You need the client ID, client secret and short name that you received at
      onboarding.
    </p>

    <h3 id="set-up">1. Set your credentials</h3>
    ${renderCode(setUp, 'sh')}
    <p>
      These commands ask for your credentials and store them in environment variables. Your terminal doesn’t show the
      secret, and your shell doesn’t save it in its history.
    </p>
    <noscript
      ><p>In the first line, replace <code>${exampleOrigin}</code> with the address of this site.</p></noscript
    >

    <h3 id="run">2. List your plans</h3>
    <p>Choose a language. Download and run the file, or copy its code.</p>
    <div class="samples">
      <fieldset class="tabs">
        <legend class="visually-hidden">Language</legend>
        ${samples.map(
          ({ label, file }, index) =>
            html`<label
              ><input type="radio" name="language" value="${file}" ${index === 0 && 'checked'} />${label}</label
            >`,
        )}
      </fieldset>
      ${samples.map(
        ({ file, language, run, label }) =>
          html`<section class="panel" data-file="${file}" aria-label="${label}">
            ${renderCode(`curl -fsSO $API/samples/${file}\n${run}`, 'sh')}
            <p class="file"><a href="/samples/${file}">${file}</a></p>
            ${renderCode(readSiteFile(`samples/${file}`), language)}
          </section>`,
      )}
    </div>

    <h3 id="output">3. Check the output</h3>
    <p>
      Each line is one plan: its <code>identifier</code> and its <code>coolName</code>, the name to display. With curl,
      you see the whole response, as JSON.
    </p>
    ${renderCode(`${identifier}\t${coolName}\n…`, 'text')}
    <p>
      If you get an error, look up its code in <a href="/errors">Errors</a>. To see your plans as cards, open
      <a href="/plans">Your plans</a>. The <a href="/reference#Plan">API reference</a> explains every field.
    </p>
  </article>`
}
