// The start page: from nothing but credentials to the first list.
import { html } from 'hono/html'
import { renderCard, scaleOf } from '../plan-card.ts'
import type { Plan } from '../client/investment-plans.ts'
import { exampleOrigin, readSiteFile, renderCode } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'

const samples = [
  { file: 'curl.sh', label: 'curl', language: 'sh', run: 'sh curl.sh' },
  { file: 'javascript.mjs', label: 'JavaScript', language: 'javascript', run: 'node javascript.mjs' },
  { file: 'python.py', label: 'Python', language: 'python', run: 'python3 python.py' },
  { file: 'php.php', label: 'PHP', language: 'php', run: 'php php.php' },
  { file: 'go.go', label: 'Go', language: 'go', run: 'go run go.go' },
] as const

export const sampleFiles = samples.map(({ file }) => file)

/** The last line alone reads, as whatever is pasted after it would be the answer. */
const setUp = `export API=${exampleOrigin}
ask() { printf '%s: ' "$1"; read -r "$2"; export "$2"; }
ask 'Client ID' CLIENT_ID; ask 'Short name' SHORT_NAME; stty -echo; ask 'Client secret' CLIENT_SECRET; stty echo`

const wire = `POST /api/v3/partners/auth
Authorization: Basic …

GET /api/v3/partners/your-short-name/plans
Authorization: Bearer …`

export function renderStart(plan: Plan): Markup {
  const { identifier, coolName, hint, performance1, currency, minInvestableAmounts } = plan
  const excerpt = JSON.stringify({ identifier, coolName, hint, performance1, currency, minInvestableAmounts }, null, 2)
  return html`<article class="prose">
    <div class="hero">
      <div>
        <h1>Every plan you may offer, in two calls.</h1>
        <p class="lead">
          Your server exchanges its client ID and secret for a token, and lists the investment plans of your country:
          names, returns, minimums and documents, ready to show to your customers.
        </p>
        <p class="actions">
          <a class="primary" href="#two-calls">Get your first list</a> <a class="quiet" href="/try">Try it here</a>
        </p>
        ${renderCode(excerpt.replace(/\n\}$/, ',\n  …\n}'), 'json')}
      </div>
      ${renderCard(plan, scaleOf([plan]))}
    </div>

    <h2 id="two-calls">The two calls</h2>
    ${renderCode(wire, 'http')}
    <p>
      That is all of it: a <a href="/tokens">token</a>, then the <a href="/filters">list</a>. In a terminal it takes
      three steps. You need the client ID, the client secret and the short name that you were given.
    </p>

    <h3 id="set-up">1. Say who you are</h3>
    ${renderCode(setUp, 'sh')}
    <p>
      It asks for what you were given. The secret is not shown while you paste it, and your shell’s history won’t have
      it.
    </p>
    <noscript
      ><p>In the first line, <code>${exampleOrigin}</code> stands for the address of this site.</p></noscript
    >

    <h3 id="run">2. Get the list</h3>
    <p>Choose your language: download the file and run it, or copy it from here.</p>
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

    <h3 id="look">3. Look at it</h3>
    <p>Each line is a plan: its identifier, and the name to show.</p>
    ${renderCode(`${identifier}\t${coolName}\n…`, 'text')}
    <p>
      If something else came back, it says what is wrong; <a href="/errors">errors</a> has a fix for each code. See your
      plans as cards on <a href="/plans">your plans</a>, and what each field means on
      <a href="/plan-fields">plan fields</a>.
    </p>
  </article>`
}
