// The blocks of the start page: its head with a card, and the samples.
import { html } from 'hono/html'
import { examplePlan } from '../../catalog/example-plan.ts'
import { renderCode, type Block } from '../markdown.ts'
import { computeScale, renderCard } from '../plan-card.ts'
import { createTabs } from './tabs.ts'

const samples = [
  { label: 'curl', file: 'curl.sh', language: 'sh', run: 'sh' },
  { label: 'JavaScript', file: 'javascript.mjs', language: 'javascript', run: 'node' },
  { label: 'Python', file: 'python.py', language: 'python', run: 'python3' },
  { label: 'PHP', file: 'php.php', language: 'php', run: 'php' },
  { label: 'Go', file: 'go.go', language: 'go', run: 'go run' },
].map(({ label, file, language, run }) => {
  const command = `curl -fsSO $API/samples/${file}\n${run} ${file}`
  return { label, file: `samples/${file}`, language, command }
})

export const sampleFiles = samples.map(({ file }) => file)

const title = 'List the plans you can offer, in two API calls'
const lead =
  'Your server exchanges its client ID and secret for an access token, then lists the investment plans of your country: names, returns, minimum amounts and documents, ready to show to your customers.'

export function createStartBlocks(): Record<string, Block> {
  const { identifier, coolName } = examplePlan
  return {
    hero: { html: renderHero(), markdown: `# ${title}\n\n${lead}` },
    samples: createTabs(samples),
    output: `${identifier}\t${coolName}\n…`,
  }
}

function renderHero() {
  const { identifier, coolName, hint, performance1, currency, minInvestableAmounts } = examplePlan
  const fields = { identifier, coolName, hint, performance1, currency, minInvestableAmounts }
  const excerpt = JSON.stringify(fields, null, 2).replace(/\n\}$/, ',\n  …\n}')
  return html`<div class="hero">
    <div>
      <h1>${title}</h1>
      <p class="lead">${lead}</p>
      <p class="actions">
        <a class="primary" href="#two-calls">Get your first list</a>
        <a class="quiet" href="/try">Try it in the browser</a>
      </p>
      ${renderCode(excerpt, 'json')}
    </div>
    ${renderCard(examplePlan, computeScale([examplePlan]))}
  </div>`
}
