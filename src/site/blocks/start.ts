// The parts of the start page that are more than prose: its head with a card, and the samples.
import { html } from 'hono/html'
import { examplePlan } from '../../catalog/example-plan.ts'
import { formatCode, readSiteFile, renderCode, type Block } from '../markdown.ts'
import { computeScale, renderCard } from '../plan-card.ts'

const samples = [
  { file: 'curl.sh', label: 'curl', language: 'sh', run: 'sh curl.sh' },
  { file: 'javascript.mjs', label: 'JavaScript', language: 'javascript', run: 'node javascript.mjs' },
  { file: 'python.py', label: 'Python', language: 'python', run: 'python3 python.py' },
  { file: 'php.php', label: 'PHP', language: 'php', run: 'php php.php' },
  { file: 'go.go', label: 'Go', language: 'go', run: 'go run go.go' },
] as const

export const sampleFiles = samples.map(({ file }) => file)

const title = 'List the plans you can offer, in two API calls'
const lead =
  'Your server exchanges its client ID and secret for an access token, then lists the investment plans of your country: names, returns, minimum amounts and documents, ready to show to your customers.'

export function createStartBlocks(): Record<string, Block> {
  const { identifier, coolName } = examplePlan
  return {
    hero: { html: renderHero(), markdown: `# ${title}\n\n${lead}` },
    samples: {
      html: renderSamples(),
      markdown: samples
        .flatMap(({ file, language, run }) => [
          formatCode(formatRun(file, run), 'sh'),
          formatCode(readSiteFile(`samples/${file}`), language),
        ])
        .join('\n\n'),
    },
    output: `${identifier}\t${coolName}\n…`,
  }
}

const formatRun = (file: string, run: string) => `curl -fsSO $API/samples/${file}\n${run}`

function renderHero() {
  const { identifier, coolName, hint, performance1, currency, minInvestableAmounts } = examplePlan
  const excerpt = JSON.stringify({ identifier, coolName, hint, performance1, currency, minInvestableAmounts }, null, 2)
  return html`<div class="hero">
    <div>
      <h1>${title}</h1>
      <p class="lead">${lead}</p>
      <p class="actions">
        <a class="primary" href="#two-calls">Get your first list</a>
        <a class="quiet" href="/try">Try it in the browser</a>
      </p>
      ${renderCode(excerpt.replace(/\n\}$/, ',\n  …\n}'), 'json')}
    </div>
    ${renderCard(examplePlan, computeScale([examplePlan]))}
  </div>`
}

function renderSamples() {
  return html`<div class="samples">
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
          ${renderCode(formatRun(file, run), 'sh')}
          <p class="file"><a href="/samples/${file}">${file}</a></p>
          ${renderCode(readSiteFile(`samples/${file}`), language)}
        </section>`,
    )}
  </div>`
}
