import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { expect, test } from 'vitest'
import { lacksCertificate } from '../../../src/ops/store/deployment.ts'

test.each<[string, string, () => Server, boolean]>([
  ['has no certificate', 'https', () => createTlsServer({}), true],
  ['closes the connection', 'https', () => createServer((socket) => socket.destroy()), false],
  ['answers', 'http', () => createHttpServer((_, response) => response.end()), false],
])('a host that %s', async (_, protocol, create, expected) => {
  const server = create().listen(0, '127.0.0.1')
  await once(server, 'listening')
  expect(await lacksCertificate(`${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}`)).toBe(expected)
  server.close()
})
