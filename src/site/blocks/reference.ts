// The API reference, from openapi.json: every operation, parameter, header, field and error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseTrusted, readPath } from '../../json.ts'
import type {
  OpenapiDocument,
  Operation,
  Parameter,
  Reference,
  Response,
  Schema,
} from '../../openapi/openapi-reader.ts'
import { exampleOrigin } from '../example-origin.ts'
import { formatCode, formatMarkdownTable } from '../markdown.ts'

export function formatReferenceBlocks(): Record<string, string> {
  const text = readFileSync(join(import.meta.dirname, '../../openapi/openapi.json'), 'utf8')
  const document = parseTrusted<OpenapiDocument>(text)
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

/** Formats the section of an operation. @param endpoint its method and path. */
function formatOperation({ components }: OpenapiDocument, endpoint: string, operation: Operation): string {
  const { operationId, summary, description, security = [], parameters = [], requestBody, responses } = operation
  const schemes = security
    .flatMap((each) => Object.keys(each))
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
    formatCode(readRequest(operationId), 'sh'),
    formatResponses(operationId, responses),
    ...Object.entries(responses).map(([status, { content }]) => formatExample(status, content)),
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
      formatValue(example),
    ]),
  )
}

/** The request of each operation. Complete programs are on the start page. */
const requests: Record<string, string> = {
  issueAccessToken: `# curl asks for the client secret.\ncurl -X POST -u "$CLIENT_ID" ${exampleOrigin}/api/v3/partners/auth`,
  listPlans: `curl -H "Authorization: Bearer $TOKEN" \\\n  "${exampleOrigin}/api/v3/partners/acme/plans?fundType=COMMODITY"`,
}

function readRequest(operationId: string): string {
  const request = requests[operationId]
  if (request === undefined) throw new Error(`${operationId} has no request in src/site/blocks/reference.ts.`)
  return request
}

function formatResponses(operationId: string, responses: Operation['responses']): string {
  const rows = Object.entries(responses).map(([status, { description, content }]) => {
    const { schema, examples } = content?.['application/json'] ?? {}
    const codes = Object.entries(examples ?? {}).map(
      ([code, { value }]) => `[\`${code}\`](/errors#${code}): ${String(readPath(value, 'message'))}`,
    )
    return [
      `${status === 'default' ? 'Other' : status} {#${operationId}-${status}}`,
      schema ? `[${readName(schema)}](#${readName(schema)})` : 'None',
      codes.length > 0 ? codes.join('<br>') : description,
    ]
  })
  return formatMarkdownTable(['Status', 'Body', 'Meaning'], rows)
}

/** Returns a folded block with the body of a response, false if there is no example of one. */
function formatExample(status: string, content: Response['content']): string | false {
  const example = content?.['application/json'].example
  return (
    example !== undefined &&
    `<details><summary>Body of a ${status}</summary>\n\n${formatCode(JSON.stringify(example, null, 2), 'json')}\n\n</details>`
  )
}

/** Formats the fields of a schema as a table. @param id the name of the schema, with which the ID of each row begins. */
function formatFields(id: string, { properties = {} }: Schema): string {
  return formatMarkdownTable(
    ['Field', 'Type', 'Meaning', 'Example'],
    Object.entries(properties).map(([name, field]) => [
      `\`${name}\` {#${id}.${name}}`,
      formatType(field),
      field.description ?? '',
      formatValue(field.examples?.[0]),
    ]),
  )
}

/** One row per header of `components`. Two rows can have one name: errors and lists differ in Cache-Control. */
function formatHeaders({ paths, components }: OpenapiDocument): string {
  const responses = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => Object.values(operation.responses)),
  )
  const names = new Map(
    responses.flatMap(({ headers = {} }) => Object.entries(headers).map(([name, header]) => [readName(header), name])),
  )
  return formatMarkdownTable(
    ['Header', 'Type', 'Meaning', 'Example'],
    Object.entries(components.headers).map(([component, { description, schema, example }]) => [
      `\`${names.get(component) ?? component}\` {#header-${component}}`,
      schema.type ?? '',
      description,
      formatValue(example ?? schema.const),
    ]),
  )
}

const maxExampleLength = 60

/** Formats an example as code, cut off if it is long. */
function formatValue(value: unknown): string {
  if (value === undefined) return ''
  const json = typeof value === 'string' ? value.replaceAll(/\s+/g, ' ') : JSON.stringify(value)
  return `\`${json.length > maxExampleLength ? `${json.slice(0, maxExampleLength)}…` : json}\``
}

/** Describes a type, such as `string, date` or `array of [Plan](#Plan)`. */
function formatType({ type = '', format, maxLength, anyOf, items, $ref }: Schema): string {
  if ($ref !== undefined) return `[${readName({ $ref })}](#${readName({ $ref })})`
  if (anyOf) return anyOf.map(formatType).join(' or ')
  if (items) return `${type} of ${formatType(items)}`
  return [type, format, maxLength && `up to ${maxLength} characters`].filter(Boolean).join(', ')
}

/** The last part of a reference, such as `Plan` of `#/components/schemas/Plan`. */
function readName({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? ''
}
