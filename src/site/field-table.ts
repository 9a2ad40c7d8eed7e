// A table of the fields of a JSON Schema: type, meaning, example.
import { html } from 'hono/html'
import type { FieldSchema } from '../openapi/plan-json-schema.ts'
import { renderInline } from './markdown.ts'
import type { Markup } from './page-shell.ts'

export interface Field extends FieldSchema {
  const?: unknown
  $ref?: string
  items?: Field
}

/** @param id starts the ID of each row, for links such as `#Plan.performance1` */
export function renderFieldTable({ properties = {} }: Field, id: string): Markup {
  return html`<div class="table">
    <table class="fields">
      <thead>
        <tr>
          <th scope="col">field</th>
          <th scope="col">type</th>
          <th scope="col">meaning</th>
          <th scope="col">example</th>
        </tr>
      </thead>
      <tbody>
        ${Object.entries(properties).flatMap(([name, field]) => renderField(id, name, field, field.examples?.[0]))}
      </tbody>
    </table>
  </div>`
}

/** Renders a row for the field, and one for each member of an object. */
function renderField(id: string, name: string, field: Field, example: unknown): Markup[] {
  const members = Object.entries(findMembers(field))
  const row = html`<tr class="${name.includes('.') ? 'member' : ''}">
    <th scope="row" id="${id}.${name}"><code>${name}</code></th>
    <td>${renderType(field)}</td>
    <td>${renderInline(field.description ?? '')}</td>
    <td>${members.length > 0 ? '' : renderValue(example)}</td>
  </tr>`
  const inner = members.flatMap(([member, schema]) =>
    renderField(
      id,
      `${name}.${member}`,
      schema,
      example instanceof Object ? Reflect.get(example, member) : schema.examples?.[0],
    ),
  )
  return [row, ...inner]
}

function findMembers({ properties, anyOf }: Field): Record<string, Field> {
  return properties ?? anyOf?.find((each) => each.properties)?.properties ?? {}
}

const maxExampleLength = 60

export function renderValue(value: unknown): Markup {
  if (value === undefined) return html``
  const json = typeof value === 'string' ? value : JSON.stringify(value)
  return html`<code>${json.length > maxExampleLength ? `${json.slice(0, maxExampleLength)}…` : json}</code>`
}

function renderType({ type, format, anyOf, items, $ref }: Field): Markup {
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)
    return html`<a href="#${name}">${name}</a>`
  }
  if (anyOf) return html`${anyOf.map((each, index) => html`${index > 0 && ' or '}${renderType(each)}`)}`
  if (items) return html`${type} of ${renderType(items)}`
  return html`${format === undefined ? (type ?? '') : `${type}, ${format}`}`
}
