// One bounded run of load against a Worker on loopback.
import autocannon from 'autocannon'

export interface Target {
  url: URL
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  /** Instead of one request over and over: many, of which every connection begins with another. */
  requests?: { path?: string; headers?: Record<string, string> }[]
  /** What every answer has to be; left out, any. */
  status?: number
  connections?: number
  /** Ends the run after so many requests, not after its time. */
  amount?: number
}

export interface Sample {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
}

export async function runLoad(target: Target, seconds: number): Promise<Sample> {
  const { url, method = 'GET', headers = {}, requests, status, connections = 32, amount } = target
  // What was measured before may have pushed this out of memory.
  if (!requests) await (await fetch(url, { method, headers })).arrayBuffer()
  let started = 0
  const result = await autocannon({
    url: url.href,
    method,
    headers,
    connections,
    ...(amount === undefined ? { duration: seconds } : { amount, duration: 60 }),
    ...(requests && {
      setupClient: (client: autocannon.Client) => {
        const first = Math.floor((started++ * requests.length) / connections)
        client.setRequests([...requests.slice(first), ...requests.slice(0, first)].map((one) => ({ method, ...one })))
      },
    }),
  })
  const answers = status === undefined ? result.requests.total : (result.statusCodeStats?.[`${status}`]?.count ?? 0)
  const others = result.requests.total - answers
  if (others > 0 || result.errors > 0 || result.timeouts > 0) {
    throw new Error(`${url.pathname}: ${others} answers other than ${status}, ${result.errors} errors`)
  }
  // A run that ends by its amount is over before autocannon's clock has ticked; its connections are never idle.
  const requestsPerSecond =
    amount === undefined ? result.requests.average : (1000 * connections) / result.latency.average
  return { requestsPerSecond, p50Ms: result.latency.p50, p99Ms: result.latency.p99 }
}
