// Runs requests through Prism, and reads what it reports.
import type { Program } from './programs.ts'

/**
 * Runs `work` with the address of a proxy that compares each request and each response with the document. The proxy forwards
 * wrong ones, too, and reports them. Requires that it reports exactly `expected`; without an expected violation an unused
 * proxy would pass.
 */
export async function runThroughPrism(
  prism: Program,
  work: (proxy: string) => Promise<unknown>,
  expected: string[],
): Promise<void> {
  try {
    await work(await findAddress(prism))
  } finally {
    prism.end()
    await prism.closed
  }
  const found = listViolations(prism.output())
  const unexpected = found.filter((violation) => !expected.includes(violation))
  const missing = expected.filter((violation) => !found.includes(violation))
  if (unexpected.length + missing.length === 0) return
  throw new Error([...unexpected, ...missing.map((violation) => `Not reported: ${violation}`)].join('\n'))
}

/** Resolves to the address that Prism prints when it listens. */
export function findAddress({ onOutput, output, closed }: Program): Promise<string> {
  return new Promise((resolve, reject) => {
    onOutput(() => {
      const [, address] = /is listening on (http:\S+)/.exec(output()) ?? []
      if (address !== undefined) resolve(address)
    })
    closed.then(() => reject(new Error(`Prism does not listen.\n${output()}`)), reject)
  })
}

/** Reads Prism's log. Works for requests that are sent one after another. */
function listViolations(log: string): string[] {
  let request = ''
  return log.split('\n').flatMap((line) => {
    request = /\[HTTP SERVER\] (\w+ \S+)/.exec(line)?.[1] ?? request
    const [, violation] = / Violation: (.*)/.exec(line) ?? []
    return violation === undefined ? [] : `${request}: ${violation.trim()}`
  })
}
