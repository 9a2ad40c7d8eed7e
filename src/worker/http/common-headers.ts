/** Headers of every answer. A year of HSTS (RFC 6797), only for this host: its subdomains are not ours. */
export function commonHeaders(requestId: string) {
  return {
    'X-Request-Id': requestId,
    'Strict-Transport-Security': 'max-age=31536000',
    'X-Content-Type-Options': 'nosniff',
  }
}
