// The picture of the page "Plans and filters": a card, with the field's name after each value.
import { html } from 'hono/html'
import { examplePlan } from '../../catalog/example-plan.ts'
import type { Block } from '../markdown.ts'
import { renderArtwork } from '../plan-artwork.ts'
import { computeScale, renderDetails, renderFace, renderClosedNote, type LabelFields } from '../plan-card.ts'

const noteOfClosedPlan = 'No new investors until the first quarter of 2027.'

const labelWithNames: LabelFields = (...fields) => html`${fields.map((field) => html` <code>${field}</code>`)}`

export function createCardPicture(): Block {
  const markup = html`<figure class="picture">
    <div class="card">
      <div class="art">${renderArtwork(examplePlan.identifier)}</div>
      <div class="card-body">${renderFace(examplePlan, computeScale([examplePlan]), labelWithNames)}</div>
    </div>
    <div class="card card-body">${renderDetails(examplePlan, labelWithNames)}</div>
    <div class="card card-body">
      ${renderClosedNote({ ...examplePlan, nonInvestableNote: noteOfClosedPlan }, labelWithNames)}
    </div>
    <figcaption>A card, its details, and the note of a closed plan, with the name of each field.</figcaption>
  </figure>`
  return { html: markup, markdown: '' }
}
