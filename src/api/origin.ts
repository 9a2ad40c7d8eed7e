// The origin of a service, as an operator or a deployer writes it.

/** @returns the origin of a service: HTTPS, or HTTP on this machine. Undefined for any other text. */
export function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const { protocol, hostname, origin, href } = new URL(text)
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback)
  // With credentials, a path, a query or a fragment, it is more than an origin.
  return isSafe && href === `${origin}/` ? origin : undefined
}
