// The API reference, from openapi.json: every operation, parameter, header, field and error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { html, raw } from 'hono/html'
import { readPath } from '../../json.ts'
import type { OpenapiDocument, Operation, Parameter, Reference, Response } from '../../openapi/openapi-reader.ts'
import { exampleOrigin } from '../example-origin.ts'
import { renderCode, renderInline } from '../markdown.ts'
import type { Markup } from '../page-shell.ts'
import { renderFieldTable, renderTable, renderValue } from '../field-table.ts'

export function renderReference(): Markup {
  const document: OpenapiDocument = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../openapi/openapi.json'), 'utf8'),
  )
  const { info, components } = document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  return html`<article class="prose reference">
    <h1>API reference</h1>
    <p>${info.description}</p>
    <p>
      Tools read the same description from <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1). The address of every
      path below is <code data-origin>${exampleOrigin}</code>.
    </p>
    <ul>
      ${operations.map(
        ({ path, method, operation }) =>
          html`<li><a href="#${operation.operationId}">${operation.summary}</a>: <code>${method} ${path}</code></li>`,
      )}
      <li>
        The bodies:
        ${Object.keys(components.schemas).map(
          (name, index) => html`${index > 0 && ', '}<a href="#${name}">${name}</a>`,
        )},
        and the <a href="#headers">headers</a>
      </li>
    </ul>
    ${operations.map(({ path, method, operation }) => renderOperation(document, path, method, operation))}
    ${Object.entries(components.schemas).map(
      ([name, schema]) =>
        html`<section>
          ${renderHeading(2, name, name)}
          <p>${renderInline(schema.description ?? '')}</p>
          ${renderFieldTable(schema, name)}
        </section>`,
    )}
    ${renderHeaders(document)}
  </article>`
}

function renderOperation({ components }: OpenapiDocument, path: string, method: string, operation: Operation): Markup {
  const { operationId, summary, description, security = [], parameters = [], requestBody, responses } = operation
  const schemes = security.flatMap((each) => Object.keys(each)).map((name) => components.securitySchemes[name])
  return html`<section>
    ${renderHeading(2, operationId, summary)}
    <p class="endpoint"><code>${method} ${path}</code></p>
    <p>${renderInline(description)}</p>
    ${renderHeading(3, `${operationId}-authorization`, 'Authorization')}
    ${schemes.map((scheme) => html`<p>${renderInline(scheme?.description ?? '')}</p>`)}
    ${
      parameters.length > 0 &&
      html`${renderHeading(3, `${operationId}-parameters`, 'Parameters')} ${renderParameters(operationId, parameters)}`
    }
    ${
      requestBody &&
      html`${renderHeading(3, `${operationId}-body`, 'Request body')}
        <p>
          Optional: ${Object.keys(requestBody.content).map((type) => html`<code>${type}</code>`)}.
          ${requestBody.description}
        </p>`
    }
    ${
      requests[operationId] &&
      html`${renderHeading(3, `${operationId}-request`, 'Request')}
      ${Object.entries(requests[operationId]).map(([language, code]) => renderCode(code, language))}`
    }
    ${Object.entries(responses).map(([status, response]) => renderResponse(operationId, status, response))}
  </section>`
}

function renderParameters(operationId: string, parameters: Parameter[]): Markup {
  return renderTable(
    ['parameter', 'where', 'meaning', 'example'],
    parameters.map(({ name, in: where, required, description, schema, example }) => ({
      id: `${operationId}.${name}`,
      name,
      cells: [
        html`${where}, ${schema.type}${required ? ', required' : ''}`,
        renderInline(description),
        renderValue(example),
      ],
    })),
  )
}

/** The request of each operation in curl and JavaScript. The start page has complete programs in five languages. */
const requests: Record<string, Record<string, string>> = {
  issueAccessToken: {
    bash: `# curl asks for the client secret.
curl -X POST -u "$CLIENT_ID" ${exampleOrigin}/api/v3/partners/auth`,
    javascript: `const credentials = Buffer.from(\`\${clientId}:\${clientSecret}\`).toString('base64')
const response = await fetch('${exampleOrigin}/api/v3/partners/auth', {
  method: 'POST',
  headers: { Authorization: \`Basic \${credentials}\` },
})
const { access_token, expires_in } = await response.json()`,
  },
  listPlans: {
    bash: `curl -H "Authorization: Bearer $TOKEN" "${exampleOrigin}/api/v3/partners/acme/plans?fundType=COMMODITY"`,
    javascript: `const response = await fetch('${exampleOrigin}/api/v3/partners/acme/plans?fundType=COMMODITY', {
  headers: { Authorization: \`Bearer \${token}\`, 'If-None-Match': lastEtag },
})
if (response.status !== 304) plans = (await response.json()).data.plans`,
  },
}

function renderResponse(operationId: string, status: string, { description, content }: Response): Markup {
  const body = content?.['application/json']
  const schema = body && readName(body.schema)
  return html`${renderHeading(3, `${operationId}-${status}`, status === 'default' ? 'Other statuses' : `Status ${status}`)}
  ${
    body?.examples
      ? html`<ul>
          ${Object.entries(body.examples).map(
            ([code, { value }]) =>
              html`<li>
                <a href="/errors#${code}"><code>${code}</code></a
                >: ${String(readPath(value, 'message'))}
              </li>`,
          )}
        </ul>`
      : html`<p>${renderInline(description)}</p>`
  }
  ${schema && html`<p>Body: <a href="#${schema}">${schema}</a>, as <code>application/json</code>.</p>`}
  ${
    body?.example !== undefined &&
    html`<details>
      <summary>Example of the body</summary>
      ${renderCode(JSON.stringify(body.example, null, 2), 'json')}
    </details>`
  }`
}

/** One row per header of `components`. Some have the same name: an error and a list differ in Cache-Control. */
function renderHeaders({ paths, components }: OpenapiDocument): Markup {
  const responses = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => Object.values(operation.responses)),
  )
  const names = new Map(
    responses.flatMap(({ headers = {} }) => Object.entries(headers).map(([name, header]) => [readName(header), name])),
  )
  return html`<section>
    ${renderHeading(2, 'headers', 'Headers')}
    ${renderTable(
      ['header', 'type', 'meaning', 'example'],
      Object.entries(components.headers).map(([component, { description, schema, example }]) => ({
        id: `header-${component}`,
        name: names.get(component) ?? component,
        cells: [schema.type ?? '', renderInline(description ?? ''), renderValue(example ?? schema.const)],
      })),
    )}
  </section>`
}

function renderHeading(level: 2 | 3, id: string, text: string): Markup {
  const name = raw(`h${level}`)
  return html`<${name} id="${id}"><a class="deep-link" href="#${id}">${text}</a></${name}>`
}

/** The last part of a reference, such as `Plan` of `#/components/schemas/Plan`. */
function readName({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? ''
}
