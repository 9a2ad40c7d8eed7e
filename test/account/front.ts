// A loopback address that stays the same while deployments change what is behind it.
import { once } from 'node:events'
import { createServer, request as sendRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

export interface Front {
  url: string
  close: () => Promise<void>
}

export interface FrontOptions {
  /** Asked for every request, as Browser Integrity Check is. */
  isRefused?: (userAgent: string) => boolean
}

/** Browser Integrity Check refuses visitors without a user agent, and Python's default one. */
export const isRefusedAgent = (userAgent: string) => /^(Python-urllib\/|$)/.test(userAgent)

/** @param findTarget is asked for every request. */
export async function startFront(
  findTarget: (headers: IncomingHttpHeaders) => Promise<URL | undefined>,
  { isRefused = () => false }: FrontOptions = {},
): Promise<Front> {
  const server = createServer((request, response) => {
    const fail = (status: number, text: string) => response.writeHead(status).end(text)
    if (isRefused(request.headers['user-agent'] ?? '')) {
      fail(403, 'error code: 1010')
      return
    }
    void findTarget(request.headers).then(
      (target) => {
        if (target === undefined) {
          fail(404, 'There is no such Worker.')
          return
        }
        const { method, headers, url: path } = request
        const forwarded = sendRequest({ host: target.hostname, port: target.port, method, path, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
          pipeline(answer, response, () => {})
        })
        forwarded.on('error', (error) => fail(502, error.message))
        request.pipe(forwarded)
      },
      (error: unknown) => fail(502, String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
