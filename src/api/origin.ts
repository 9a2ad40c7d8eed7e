/** @returns the origin in a service's address; undefined if the address has more than an origin, or is HTTP on another machine. */
export function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, origin, href } = new URL(text)
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback)
  // Refuses credentials, a path, a query and a fragment.
  return isSafe && href === `${origin}/` ? origin : undefined
}
