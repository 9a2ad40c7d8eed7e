// The requests of both collections, from an OpenAPI document.
import type { OpenapiDocument, Operation, Schema } from '../../openapi/openapi-reader.ts'

export interface Collection {
  name: string
  description: string
  /** The path of the token endpoint. */
  tokenPath: string
  requests: readonly CollectionRequest[]
}

export interface CollectionRequest {
  /** Unique, and fit for a file name. */
  id: string
  name: string
  method: string
  /** Path parameters are variables: `/api/v3/partners/{{shortName}}/plans`. */
  path: string
  description: string
  auth: 'basic' | 'bearer'
  query: readonly Option[]
  headers: readonly Option[]
  expected: Expected
  /** A variable that keeps the ETag of the response. */
  etagVariable?: string
}

/** A query parameter or a header, with the document's example. */
export interface Option {
  name: string
  value: string
  description: string
  isSent: boolean
}

interface Expected {
  status: string
  contentType?: string
  /** The required fields of the body. */
  fields?: readonly string[]
  /** The name of the array that `data.total` counts. */
  list?: string
}

/** How the tests of a tool read the response. */
export interface TestDialect {
  test: string
  expect: string
  status: string
  contentType: string
  body: string
}

/** @param openapi is the text of openapi.json. */
export function readCollection(openapi: string): Collection {
  const document: OpenapiDocument = JSON.parse(openapi)
  const { info, paths, components } = document
  const flows = Object.values(components.securitySchemes).flatMap((scheme) => scheme.flows ?? [])
  const [tokenPath] = flows.map(({ clientCredentials }) => clientCredentials.tokenUrl)
  if (!tokenPath?.startsWith('/')) throw new Error(`The collections need a tokenUrl that is a path, not ${tokenPath}.`)
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => readOperation(document, path, method, operation)),
  )
  return { name: info.title, description: info.description, tokenPath, requests }
}

const methodNames = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])

/** @returns the part of the document that a request would silently lack. */
function findUnsupported(path: string, method: string, operation: Operation): string | undefined {
  const { parameters = [], requestBody } = operation
  if (!methodNames.has(method)) return 'it is for the whole path, and must be in each operation'
  const parameter = parameters.find(({ in: place }) => !['path', 'query', 'header'].includes(place))
  if (parameter) return `${JSON.stringify(parameter)} is not a parameter in path, query or header`
  const [variable] = path.replaceAll('{shortName}', '').match(/\{.*?\}/) ?? []
  if (variable !== undefined)
    return `${variable} needs a variable in bruno-collection.ts and postman-collection.ts, as {shortName} has`
  if (requestBody && requestBody.required !== false) return 'the request body is not "required": false'
  return undefined
}

/** An operation that documents 304 also gets a request that sends the ETag of the first. */
function readOperation(
  document: OpenapiDocument,
  path: string,
  method: string,
  operation: Operation,
): CollectionRequest[] {
  const unsupported = findUnsupported(path, method, operation)
  if (unsupported !== undefined) throw new Error(`The collections don't support ${method} of ${path}: ${unsupported}.`)
  const { operationId, summary, description, parameters = [], responses } = operation
  const readOptions = (place: 'query' | 'header') =>
    parameters
      .filter((parameter) => parameter.in === place)
      .map(({ name, description: meaning, example = '' }) => ({
        name,
        value: String(example),
        description: meaning,
        isSent: false,
      }))
  const plain = {
    id: operationId,
    name: summary,
    method: method.toUpperCase(),
    path: path.replaceAll('{shortName}', '{{shortName}}'),
    description,
    auth: readAuth(document, operation),
    query: readOptions('query'),
    headers: readOptions('header'),
    expected: readExpected(document, operation),
  }
  if (!('304' in responses)) return [plain]
  const etagVariable = `${operationId}Etag`
  const conditional = {
    ...plain,
    id: `${operationId}-conditional`,
    name: `${summary} (conditional)`,
    description: `Sends the ETag of the last response to "${summary}". Send that request first, with the same query parameters. The status is 304 if nothing has changed since.`,
    headers: plain.headers.map((header) =>
      header.name === 'If-None-Match' ? { ...header, value: `{{${etagVariable}}}`, isSent: true } : header,
    ),
    expected: { status: '304' },
  }
  return [{ ...plain, etagVariable }, conditional]
}

function readAuth({ components }: OpenapiDocument, { operationId, security = [] }: Operation): 'basic' | 'bearer' {
  for (const name of security.flatMap((scheme) => Object.keys(scheme))) {
    const scheme = components.securitySchemes[name]?.scheme
    if (scheme === 'basic' || scheme === 'bearer') return scheme
  }
  throw new Error(
    `The collections don't support ${operationId}: its "security" has neither Basic credentials nor a bearer token.`,
  )
}

function readExpected({ components }: OpenapiDocument, { operationId, responses }: Operation): Expected {
  const [status, response] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  if (status === undefined) throw new Error(`${operationId} documents no status of success.`)
  const json = response?.content?.['application/json']
  if (json === undefined) return { status }
  const resolve = (schema: Schema = {}) => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema
  const body = resolve(json.schema)
  const data = resolve(body.properties?.['data']).properties ?? {}
  const list = Object.keys(data).find((name) => 'total' in data && data[name]?.type === 'array')
  return {
    status,
    contentType: 'application/json',
    fields: body.required ?? [],
    ...(list !== undefined && { list }),
  }
}

/** The tests of a response, as lines of JavaScript. */
export function writeTests({ status, contentType, fields, list }: Expected, dialect: TestDialect): string[] {
  const { test, expect, body } = dialect
  const write = (name: string, value: string, check: string) =>
    `${test}(${JSON.stringify(name)}, () => ${expect}(${value}).to.${check})`
  return [
    write(`Status ${status}`, dialect.status, `equal(${status})`),
    ...(contentType
      ? [write(`Content-Type ${contentType}`, dialect.contentType, `include(${JSON.stringify(contentType)})`)]
      : []),
    ...(fields ? [write(`Has ${fields.join(', ')}`, body, `include.all.keys(${JSON.stringify(fields)})`)] : []),
    ...(list
      ? [write(`total counts ${list}`, `${body}.data.total`, `equal(${body}.data[${JSON.stringify(list)}].length)`)]
      : []),
  ]
}
