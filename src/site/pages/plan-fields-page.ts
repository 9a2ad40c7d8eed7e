// Every field of a plan, from openapi.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { html } from 'hono/html'
import type { Markup } from '../page-shell.ts'

/** What the document uses of JSON Schema. */
interface Schema {
  type?: string
  format?: string
  description?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
  anyOf?: Schema[]
}

interface Document {
  components: { schemas: { Plan: { properties: Record<string, Schema> } } }
}

export function renderPlanFields(): Markup {
  const document: Document = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi/openapi.json'), 'utf8'))
  const { properties } = document.components.schemas.Plan
  return html`<article class="prose">
    <h1>Plan fields</h1>
    <p>Every plan has every field; optional values are <code>null</code>. The examples are those of one plan.</p>
    <div class="table">
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
          ${Object.entries(properties).flatMap(([name, schema]) => renderField(name, schema))}
        </tbody>
      </table>
    </div>
  </article>`
}

/** A row, and one for each member of an object. */
function renderField(name: string, schema: Schema): Markup[] {
  const members = schema.anyOf?.find(({ properties }) => properties)?.properties ?? {}
  const example = schema.examples?.[0]
  const row = html`<tr>
    <th scope="row" id="${name}"><code>${name}</code></th>
    <td>${nameType(schema)}</td>
    <td>${schema.description}</td>
    <td>${renderExample(example)}</td>
  </tr>`
  const inner = Object.entries(members).map(
    ([member, memberSchema]) =>
      html`<tr class="member">
        <th scope="row" id="${name}.${member}"><code>${name}.${member}</code></th>
        <td>${nameType(memberSchema)}</td>
        <td>${memberSchema.description}</td>
        <td>${renderExample(example instanceof Object ? Reflect.get(example, member) : undefined)}</td>
      </tr>`,
  )
  return [row, ...inner]
}

const longestExample = 60

function renderExample(value: unknown): Markup {
  if (value === undefined || (value instanceof Object && 'id' in value)) return html``
  const json = JSON.stringify(value)
  return html`<code>${json.length > longestExample ? `${json.slice(0, longestExample)}…` : json}</code>`
}

function nameType({ type, format, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(nameType).join(' or ')
  return format === undefined ? (type ?? '') : `${type}, ${format}`
}
