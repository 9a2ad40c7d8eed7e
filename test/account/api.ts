// What the parts of the account share: calls of the HTTP API, its answers and its refusals.
import { isJsonObject } from '../../src/json.ts'

export interface Call {
  method: string
  /** Without the address of the API and the account, such as `/d1/database`. */
  path: string
  query: URLSearchParams
  contentType: string
  bearer: string
  body: Buffer
}

/** Returns what becomes `result` of the answer `{ success, errors, result }`, or the whole answer. @param ids the segments of the path that match `:id`. */
export type Handler = (call: Call, ...ids: string[]) => unknown

/** The handler of each method and path. `:id` matches a segment. */
export type Routes = Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`, Handler>

/** The API refuses a call: `{ "success": false, "errors": [{ "code": …, "message": … }] }` */
export class Refusal extends Error {
  readonly status: number
  readonly code: number
  readonly headers: Record<string, string>

  constructor(status: number, code: number, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** The connection ends without an answer. */
export class Dropped extends Error {}

export function readJson(call: Call): Record<string, unknown> {
  const value: unknown = JSON.parse(call.body.toString() || '{}')
  if (!isJsonObject(value)) throw new Refusal(400, 10026, 'The body must be a JSON object.')
  return value
}

export function isFirstPage({ query }: Call): boolean {
  return Number(query.get('page') ?? 1) === 1
}

export function readForm(call: Call): Promise<FormData> {
  return new Response(new Uint8Array(call.body), { headers: { 'Content-Type': call.contentType } }).formData()
}
