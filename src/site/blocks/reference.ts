// Makes the blocks of pages/reference.md, by name, from openapi.json: every operation, parameter, header, field and error.
import { parseTrusted, readPath } from '../../json.ts'
import type { OpenapiDocument, Operation, Parameter, Response, Schema } from '../../openapi/openapi-reader.ts'
import { readReferencedName } from '../../openapi/plan-json-schema.ts'
import { exampleOrigin } from '../example-origin.ts'
import { formatCode, formatMarkdownTable, readSiteFile } from '../markdown.ts'

export function formatReferenceBlocks(): Record<string, string> {
  const document = parseTrusted<OpenapiDocument>(readSiteFile('../openapi/openapi.json'))
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      formatOperation(document, `${method.toUpperCase()} ${path}`, operation),
    ),
  )
  return {
    about: document.info.description,
    operations: operations.join('\n\n'),
    bodies: Object.entries(document.components.schemas)
      .map(([name, schema]) => `## ${name} {#${name}}\n\n${schema.description}\n\n${formatFields(name, schema)}`)
      .join('\n\n'),
    headers: formatHeaders(document),
  }
}

/** @param endpoint the method and the path of the operation, such as `POST /api/v3/partners/auth` */
function formatOperation({ components }: OpenapiDocument, endpoint: string, operation: Operation): string {
  const { operationId, summary, description, security = [], parameters = [], requestBody, responses } = operation
  // openapi.json has OAuth 2 first, for tools. The page shows it last, because its description begins with "Or".
  const schemes = security
    .flatMap((alternative) => Object.keys(alternative))
    .toReversed()
    .map((name) => components.securitySchemes[name])
  return [
    `## ${summary} {#${operationId}}`,
    `**\`${endpoint}\`**`,
    description,
    `**Authorization:** ${schemes.map((scheme) => scheme?.description).join(' ')}`,
    requestBody &&
      `**Body:** optional, \`${Object.keys(requestBody.content).join('`, `')}\`. ${requestBody.description}`,
    parameters.length > 0 && formatParameters(operationId, parameters),
    formatCode(getCurlCommand(operationId), 'sh'),
    formatResponses(operationId, responses),
    ...Object.entries(responses).map(([status, { content }]) => formatExampleBody(status, content)),
  ]
    .filter(Boolean)
    .join('\n\n')
}

function formatParameters(operationId: string, parameters: Parameter[]): string {
  return formatMarkdownTable(
    ['Parameter', 'Where', 'Meaning', 'Example'],
    parameters.map(({ name, in: where, required, description, schema, example }) => [
      `\`${name}\` {#${operationId}.${name}}`,
      `${where}, ${schema.type}${required ? ', required' : ''}`,
      description,
      formatExampleValue(example),
    ]),
  )
}

/** The curl command of each operation, by its ID. */
const curlCommands: Record<string, string> = {
  issueAccessToken: `# curl asks for the client secret.\ncurl -X POST -u "$CLIENT_ID" ${exampleOrigin}/api/v3/partners/auth`,
  listPlans: `curl -H "Authorization: Bearer $TOKEN" \\\n  "${exampleOrigin}/api/v3/partners/acme/plans?fundType=COMMODITY"`,
}

function getCurlCommand(operationId: string): string {
  const command = curlCommands[operationId]
  if (command === undefined) throw new Error(`${operationId} has no curl command in src/site/blocks/reference.ts.`)
  return command
}

function formatResponses(operationId: string, responses: Operation['responses']): string {
  const rows = Object.entries(responses).map(([status, { description, content }]) => {
    const { schema, examples } = content?.['application/json'] ?? {}
    const errors = Object.entries(examples ?? {}).map(
      ([code, { value }]) => `[\`${code}\`](/errors#${code}): ${String(readPath(value, 'message'))}`,
    )
    return [
      `${status === 'default' ? 'Other' : status} {#${operationId}-${status}}`,
      schema ? formatType(schema) : 'None',
      errors.length > 0 ? errors.join('<br>') : description,
    ]
  })
  return formatMarkdownTable(['Status', 'Body', 'Meaning'], rows)
}

/** Returns false if the response has no example. */
function formatExampleBody(status: string, content: Response['content']): string | false {
  const example = content?.['application/json'].example
  return (
    example !== undefined &&
    `<details><summary>Body of a ${status}</summary>\n\n${formatCode(JSON.stringify(example, null, 2), 'json')}\n\n</details>`
  )
}

/** Formats the fields of a schema as a table. The row of a field has an ID such as `Plan.currency`. */
function formatFields(schemaName: string, { properties = {} }: Schema): string {
  return formatMarkdownTable(
    ['Field', 'Type', 'Meaning', 'Example'],
    Object.entries(properties).map(([name, field]) => [
      `\`${name}\` {#${schemaName}.${name}}`,
      formatType(field),
      field.description ?? '',
      formatExampleValue(field.examples?.[0]),
    ]),
  )
}

/** Formats a table with a row for each header of `components`. Cache-Control has two: its value on lists differs from that on tokens and errors. */
function formatHeaders({ paths, components }: OpenapiDocument): string {
  const responses = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => Object.values(operation.responses)),
  )
  const namesByComponent = new Map(
    responses.flatMap(({ headers = {} }) =>
      Object.entries(headers).map(([name, reference]) => [readReferencedName(reference.$ref), name]),
    ),
  )
  return formatMarkdownTable(
    ['Header', 'Type', 'Meaning', 'Example'],
    Object.entries(components.headers).map(([component, { description, schema, example }]) => [
      `\`${namesByComponent.get(component) ?? component}\` {#header-${component}}`,
      schema.type ?? '',
      description,
      formatExampleValue(example ?? schema.const),
    ]),
  )
}

const maxExampleLength = 60

/** Formats an example as code, cut off if it is long. Without an example, returns an empty text. */
function formatExampleValue(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value.replaceAll(/\s+/g, ' ') : JSON.stringify(value)
  return text.length > maxExampleLength ? `\`${text.slice(0, maxExampleLength)}…\`` : `\`${text}\``
}

/** Describes a type, such as `string, date` or `array of [Plan](#Plan)`. */
function formatType({ type = '', format, maxLength, anyOf, items, $ref }: Schema): string {
  if ($ref !== undefined) return `[${readReferencedName($ref)}](#${readReferencedName($ref)})`
  if (anyOf) return anyOf.map(formatType).join(' or ')
  if (items) return `${type} of ${formatType(items)}`
  return [type, format, maxLength && `up to ${maxLength} characters`].filter(Boolean).join(', ')
}
