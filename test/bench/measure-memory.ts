// Measures the memory of an isolate while partners request large lists, and don't read them.
import { connect, type Socket } from 'node:net'
import { makeCatalog } from './bench-catalog.ts'
import { createPartner, fetchToken, importPlans, startService, type Bundle, type Service } from './service.ts'

const countries = ['KE', 'UG', 'RW', 'TZ']
const readersOfEach = 10

/** An isolate has 128 MB for everything. */
const maxBytes = 100 * 1024 * 1024
const formatMegabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`

export async function measureMemory(bundle: Bundle, note: (text: string) => void) {
  note('Measuring memory with readers that pause …')
  const service = await startService(bundle, { measured: ['app-with-readers'], isInspected: true })
  const url = await service.getUrl('app-with-readers')
  const sizes = new Map<string, number>()
  const sockets: Socket[] = []
  let refused = 0
  try {
    // Each country lacks a plan of its own: equal lists would share their bytes.
    const plans = (await makeCatalog()).map((plan, index) => ({
      ...plan,
      viewableIn: countries.filter((_, country) => country !== index),
    }))
    await importPlans(service.d1, plans)
    const lists: { path: string; token: string }[] = []
    for (const country of countries) {
      const partner = await createPartner(service.d1, country.toLowerCase(), country)
      lists.push({ path: `/api/v3/partners/${partner.shortName}/plans`, token: await fetchToken(url, partner) })
    }
    for (const { path, token } of Array.from({ length: readersOfEach }, () => lists).flat()) {
      const { socket, status, bytes } = await startReading(url, path, token)
      sockets.push(socket)
      if (status === 503) refused++
      else if (status !== 200) throw new Error(`The list returned status ${status}.`)
      else if (Number.isNaN(bytes)) throw new Error('The list has no Content-Length.')
      else sizes.set(path, bytes)
    }
    const { bufferBytes, heapBytes } = await readLiveBytes(service, 'app-with-readers')
    const listBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
    const row = {
      MEMORY: `${sockets.length} paused readers of ${countries.length} lists of 9,999 plans`,
      'LISTS, ONCE EACH': formatMegabytes(listBytes),
      BUFFERS: formatMegabytes(bufferBytes),
      HEAP: formatMegabytes(heapBytes),
      REFUSED: String(refused),
    }
    return { rows: [row], isMissed: bufferBytes + heapBytes > maxBytes }
  } finally {
    for (const socket of sockets) socket.destroy()
    await service.stop()
  }
}

/** Sends a request, and stops reading after the headers of the response. */
function startReading(
  url: URL,
  path: string,
  token: string,
): Promise<{ socket: Socket; status: number; bytes: number }> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname)
    socket.once('error', reject)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    socket.once('data', (data) => {
      socket.pause()
      const head = data.toString('latin1')
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
      resolve({ socket, status, bytes: Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? Number.NaN) })
    })
  })
}

/** Collects the garbage of a Worker's isolate, and asks its inspector what is left. */
async function readLiveBytes(service: Service, worker: string): Promise<{ bufferBytes: number; heapBytes: number }> {
  for (let count = 0; count < 3; count++) await fetch(await service.getUrl(worker), { method: 'DELETE' })
  const { host } = await service.getInspectorUrl()
  const socket = new WebSocket(`ws://${host}/core:user:${worker}`)
  try {
    const answer = await new Promise<string>((resolve, reject) => {
      socket.addEventListener('open', () => socket.send(JSON.stringify({ id: 1, method: 'Runtime.getHeapUsage' })))
      socket.addEventListener('message', ({ data }) => resolve(String(data)))
      socket.addEventListener('error', () => reject(new Error(`The inspector has no ${worker}.`)))
    })
    const { result } = JSON.parse(answer) as { result: { usedSize: number; backingStorageSize: number } }
    return { bufferBytes: result.backingStorageSize, heapBytes: result.usedSize }
  } finally {
    socket.close()
  }
}
