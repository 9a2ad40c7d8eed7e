// The picture of the page "Plans and filters": a card with the name of the field behind each value.
import { html } from 'hono/html'
import { examplePlan } from '../../catalog/example-plan.ts'
import type { Block } from '../markdown.ts'
import { renderArtwork } from '../plan-artwork.ts'
import { computeScale, renderDetails, renderFace, renderNote, type LabelFields } from '../plan-card.ts'

const noteOfClosedPlan = 'No new investors until the first quarter of 2027.'

const label: LabelFields = (...fields) => html`${fields.map((field) => html` <code>${field}</code>`)}`

export function createCardPicture(): Block {
  const markup = html`<figure class="picture">
    <div class="card">
      <div class="art">${renderArtwork(examplePlan.identifier)}</div>
      <div class="card-body">${renderFace(examplePlan, computeScale([examplePlan]), label)}</div>
    </div>
    <div class="card card-body">${renderDetails(examplePlan, label)}</div>
    <div class="card card-body">${renderNote({ ...examplePlan, nonInvestableNote: noteOfClosedPlan }, label)}</div>
    <figcaption>A card, its details, and the note of a closed plan, with the name of each field.</figcaption>
  </figure>`
  return { html: markup, markdown: '' }
}
