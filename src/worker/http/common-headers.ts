import { readVersionId } from '../log.ts'

/** The part of a request's context that the headers need. */
export interface HeaderContext {
  env: Pick<Env, 'VERSION'>
  get: (name: 'requestId') => string
}

/** Headers of every answer. A year of HSTS (RFC 6797), only for this host: its subdomains are not ours. */
export function commonHeaders(c: HeaderContext): Record<string, string> {
  const headers: Record<string, string> = {
    'X-Request-Id': c.get('requestId'),
    'Strict-Transport-Security': 'max-age=31536000',
    'X-Content-Type-Options': 'nosniff',
  }
  const versionId = readVersionId(c.env.VERSION)
  if (versionId) headers['X-Worker-Version'] = versionId
  return headers
}
