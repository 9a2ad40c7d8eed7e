/** Reads the address of a service. @returns its origin; undefined unless the address is only an origin, with HTTPS, or with HTTP on this machine */
export function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, origin, href } = new URL(text)
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback)
  // Refuses credentials, a path, a query and a fragment.
  return isSafe && href === `${origin}/` ? origin : undefined
}
