// One bounded run of load against a Worker on loopback.
import autocannon from 'autocannon'

export const defaultConnections = 32

export interface Target {
  url: URL
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Sends these in turn instead of the same request. Each connection starts at a different one. */
  requests?: { path?: string; headers?: Record<string, string> }[]
  /** The only status allowed. */
  status: number
  connections?: number
  /** Ends the run after this many requests instead of after its time. */
  amount?: number
}

export interface Sample {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
}

/** Sends requests for some seconds, or a fixed amount. @throws Error when an answer has another status, or none arrives. */
export async function runLoad(target: Target, seconds: number): Promise<Sample> {
  const { url, method = 'GET', headers = {}, requests, status, connections = defaultConnections, amount } = target
  // The previous measurement may have evicted the list from memory.
  if (!requests) await (await fetch(url, { method, headers })).arrayBuffer()
  let started = 0
  const result = await autocannon({
    url: url.href,
    method,
    headers,
    connections,
    ...(amount === undefined ? { duration: seconds } : { amount, duration: 60 }),
    // A run ends at the end of a sample.
    sampleInt: 50,
    ...(requests && {
      setupClient: (client: autocannon.Client) => {
        const first = Math.floor((started++ * requests.length) / connections)
        client.setRequests([...requests.slice(first), ...requests.slice(0, first)].map((one) => ({ method, ...one })))
      },
    }),
  })
  const others = result.requests.total - (result.statusCodeStats?.[`${status}`]?.count ?? 0)
  if (others > 0 || result.errors > 0 || result.timeouts > 0) {
    throw new Error(`${url.pathname}: ${others} answers other than ${status}, ${result.errors} errors`)
  }
  // A run with an amount ends before its last sample does. Its connections are never idle, so its latencies are exact.
  const requestsPerSecond =
    amount === undefined ? result.requests.total / result.duration : (1000 * connections) / result.latency.average
  return { requestsPerSecond, p50Ms: result.latency.p50, p99Ms: result.latency.p99 }
}
