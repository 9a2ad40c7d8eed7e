// The page that lists every field of a plan, from openapi.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { html } from 'hono/html'
import type { FieldSchema } from '../../openapi/plan-json-schema.ts'
import type { Markup } from '../page-shell.ts'

interface Document {
  components: { schemas: { Plan: { properties: Record<string, FieldSchema> } } }
}

export function renderPlanFields(): Markup {
  const document: Document = JSON.parse(readFileSync(join(import.meta.dirname, '../../openapi/openapi.json'), 'utf8'))
  const { properties } = document.components.schemas.Plan
  return html`<article class="prose">
    <h1>Plan fields</h1>
    <p>Every plan has every field. A missing value is <code>null</code>. All examples are from one plan.</p>
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

/** Renders a row for the field, and one for each member of an object. */
function renderField(name: string, schema: FieldSchema): Markup[] {
  const members = schema.anyOf?.find(({ properties }) => properties)?.properties ?? {}
  const example = schema.examples?.[0]
  const row = html`<tr>
    <th scope="row" id="${name}"><code>${name}</code></th>
    <td>${formatType(schema)}</td>
    <td>${schema.description}</td>
    <td>${renderExample(example)}</td>
  </tr>`
  const inner = Object.entries(members).map(
    ([member, memberSchema]) =>
      html`<tr class="member">
        <th scope="row" id="${name}.${member}"><code>${name}.${member}</code></th>
        <td>${formatType(memberSchema)}</td>
        <td>${memberSchema.description}</td>
        <td>${renderExample(example instanceof Object ? Reflect.get(example, member) : undefined)}</td>
      </tr>`,
  )
  return [row, ...inner]
}

const maxExampleLength = 60

function renderExample(value: unknown): Markup {
  if (value === undefined || (value instanceof Object && 'id' in value)) return html``
  const json = JSON.stringify(value)
  return html`<code>${json.length > maxExampleLength ? `${json.slice(0, maxExampleLength)}…` : json}</code>`
}

function formatType({ type, format, anyOf }: FieldSchema): string {
  if (anyOf) return anyOf.map(formatType).join(' or ')
  return format === undefined ? (type ?? '') : `${type}, ${format}`
}
