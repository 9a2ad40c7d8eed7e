// Loaded into every program that runs a command of the page: sends requests for a deployed address to loopback.
const targets: Record<string, string> = JSON.parse(process.env['LOOPBACK_TARGETS'] ?? '{}')
const send = globalThis.fetch

globalThis.fetch = (input, init) => {
  if (input instanceof Request) return send(input, init)
  const { host, pathname, search } = new URL(input)
  const target = targets[host]
  return send(target === undefined ? input : new URL(pathname + search, target), init)
}
