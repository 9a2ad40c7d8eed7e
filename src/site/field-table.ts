// The tables of the API reference, and the fields of a JSON Schema as one: type, meaning, example.
import { html } from 'hono/html'
import type { Schema } from '../openapi/openapi-reader.ts'
import { renderInline } from './markdown.ts'
import type { Markup } from './page-shell.ts'

export interface Row {
  id: string
  name: string
  /** What the other columns say about it. */
  cells: readonly (string | Markup)[]
}

export function renderTable(columns: readonly string[], rows: readonly Row[]): Markup {
  return html`<div class="table" tabindex="0">
    <table class="fields">
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ id, name, cells }) =>
            html`<tr>
              <th scope="row" id="${id}"><code>${name}</code></th>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** @param id starts the ID of each row, for links such as `#Plan.performance1` */
export function renderFieldTable({ properties = {} }: Schema, id: string): Markup {
  const rows = Object.entries(properties).map(([name, field]) => ({
    id: `${id}.${name}`,
    name,
    cells: [renderType(field), renderInline(field.description ?? ''), renderValue(field.examples?.[0])],
  }))
  return renderTable(['field', 'type', 'meaning', 'example'], rows)
}

const maxExampleLength = 60

export function renderValue(value: unknown): Markup {
  if (value === undefined) return html``
  const json = typeof value === 'string' ? value : JSON.stringify(value)
  return html`<code>${json.length > maxExampleLength ? `${json.slice(0, maxExampleLength)}…` : json}</code>`
}

function renderType({ type, format, anyOf, items, $ref }: Schema): Markup {
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)
    return html`<a href="#${name}">${name}</a>`
  }
  if (anyOf) return html`${anyOf.map((each, index) => html`${index > 0 && ' or '}${renderType(each)}`)}`
  if (items) return html`${type} of ${renderType(items)}`
  return html`${format === undefined ? (type ?? '') : `${type}, ${format}`}`
}
