// What an isolate keeps in memory while partners read large lists slowly, or not at all.
import { connect, type Socket } from 'node:net'
import { makeCatalog } from './bench-setup.ts'
import {
  createPartner,
  fetchToken,
  importPlans,
  startService,
  type BenchPartner,
  type Bundle,
  type Service,
} from './service.ts'

const countries = ['KE', 'UG', 'RW', 'TZ']
/** Each selects a fifth of the 10,000 plans. */
const currencies = ['KES', 'UGX', 'RWF', 'TZS', 'USD']
const fundTypes = ['BOND', 'EQUITY', 'BALANCED', 'SHARIAH', 'COMMODITY']
const filters = [...currencies.map((value) => `?currency=${value}`), ...fundTypes.map((value) => `?fundType=${value}`)]

export interface MemoryRow {
  situation: string
  /** Bytes of all lists that the readers wait for, each counted once. */
  listBytes: number
  /** Live bytes of buffers and of the heap, after a garbage collection. */
  bufferBytes: number
  heapBytes: number
  /** Readers that were refused with a 503. */
  refused: number
}

const wrapper = 'test/bench/collecting.ts'

export async function measureMemory(bundle: Bundle, note: (text: string) => void): Promise<MemoryRow[]> {
  note('Measuring memory with readers that pause …')
  const service = await startService(bundle, { filters: wrapper, countries: wrapper }, {}, true)
  try {
    const catalog = (await makeCatalog()).map((plan, index) => ({
      ...plan,
      currency: currencies[index % currencies.length] ?? '',
      fundType: fundTypes[Math.floor(index / currencies.length) % fundTypes.length] ?? '',
      viewableIn: countries,
    }))
    await importPlans(service.d1, catalog)
    const partners = await Promise.all(
      countries.map((country) => createPartner(service.d1, country.toLowerCase(), country)),
    )
    const [first] = partners
    if (first === undefined) throw new Error('There is no partner.')
    return [
      await measureReaders(service, 'filters', '50 paused readers of 10 filters', 50, (index) => ({
        partner: first,
        query: filters[index % filters.length] ?? '',
      })),
      await measureReaders(service, 'countries', '40 paused readers of 4 countries', 40, (index) => ({
        partner: partners[index % partners.length] ?? first,
        query: '',
      })),
    ]
  } finally {
    await service.stop()
  }
}

interface Read {
  partner: BenchPartner
  query: string
}

async function measureReaders(
  service: Service,
  worker: string,
  situation: string,
  readers: number,
  pick: (index: number) => Read,
): Promise<MemoryRow> {
  const url = await service.getUrl(worker)
  const tokens = new Map<string, string>()
  const sizes = new Map<string, number>()
  const sockets: Socket[] = []
  let refused = 0
  try {
    for (let index = 0; index < readers; index++) {
      const { partner, query } = pick(index)
      const token = tokens.get(partner.shortName) ?? (await fetchToken(url, partner))
      tokens.set(partner.shortName, token)
      const path = `/api/v3/partners/${partner.shortName}/plans${query}`
      const { socket, status, bytes } = await startReading(url, path, token)
      sockets.push(socket)
      if (status === 503) refused++
      else if (status !== 200) throw new Error(`The list returned status ${status}.`)
      else if (Number.isNaN(bytes)) throw new Error('The list has no Content-Length.')
      else sizes.set(path, bytes)
    }
    const { bufferBytes, heapBytes } = await readLiveBytes(service, worker)
    const listBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
    return { situation, listBytes, bufferBytes, heapBytes, refused }
  } finally {
    for (const socket of sockets) socket.destroy()
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

interface HeapUsage {
  usedSize: number
  backingStorageSize: number
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
    const { result } = JSON.parse(answer) as { result: HeapUsage }
    return { bufferBytes: result.backingStorageSize, heapBytes: result.usedSize }
  } finally {
    socket.close()
  }
}
