// What the smoke test needs. A deploy checks it before the new version is live.

/** @returns the origin of a service: HTTPS, or HTTP on this machine. */
export function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, origin, href } = new URL(text)
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback)
  // With credentials, a path, a query or a fragment, it is more than an origin.
  return isSafe && href === `${origin}/` ? origin : undefined
}

export const originRule = '--url must be an origin such as https://catalog.example.com; http: only for this machine.'

/** The variables with the credentials of the smoke test's partner. */
const credentialNames = ['CLIENT_ID', 'CLIENT_SECRET', 'SHORT_NAME']

/** @returns what to fix when some are set, and not all. */
export function findIncompleteCredentials(variables: Record<string, string | undefined>): string | undefined {
  const missing = credentialNames.filter((name) => !variables[name])
  if (missing.length === 0 || missing.length === credentialNames.length) return undefined
  const present = credentialNames.filter((name) => variables[name])
  return `The smoke test lacks ${missing.join(' and ')}: set all of ${credentialNames.join(', ')}, or unset ${present.join(' and ')}.`
}
