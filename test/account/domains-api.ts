// Custom domains of Workers. As wrangler asks for it, a call takes over what another Worker, or a DNS record, has.
import { randomUUID } from 'node:crypto'
import { isJsonObject, readPath } from '../../src/json.ts'
import { readJson, Refusal, type Call, type Routes } from './api.ts'
import { findWorker, type Workers } from './workers.ts'

interface Domain {
  id: string
  hostname: string
  /** The Worker; undefined for a DNS record that leads elsewhere. */
  service: string | undefined
}

/** By their hosts. */
export type Domains = Map<string, Domain>

export function createDomains(workers: Workers, domains: Domains): Routes {
  const readHosts = (origins: unknown) =>
    (Array.isArray(origins) ? origins : []).map((origin: unknown) => String(readPath(origin, 'hostname')))

  /** What a call with these hosts would change. */
  const compare = (call: Call, name: string) => {
    const hosts = readHosts(JSON.parse(call.body.toString()))
    const known = hosts.flatMap((host) => domains.get(host) ?? [])
    return {
      added: hosts.filter((host) => !domains.has(host)).map((hostname) => ({ hostname })),
      removed: [...domains.values()].filter(({ service, hostname }) => service === name && !hosts.includes(hostname)),
      updated: known
        .filter(({ service }) => service !== undefined)
        .map((domain) => ({ ...domain, modified: domain.service !== name })),
      conflicting: known.filter(({ service }) => service === undefined),
    }
  }

  const put = (call: Call, name: string) => {
    const { origins, override_existing_origin: overOrigin, override_existing_dns_record: overRecord } = readJson(call)
    findWorker(workers, name)
    const hosts = readHosts(origins)
    for (const host of hosts) {
      const { service } = domains.get(host) ?? { service: name }
      if (service === undefined && overRecord !== true) throw new Refusal(409, 100117, `${host} has a DNS record.`)
      if (service !== undefined && service !== name && overOrigin !== true) {
        throw new Refusal(409, 100116, `${host} is a domain of ${service}.`)
      }
    }
    for (const { hostname, service } of domains.values()) {
      if (service === name && !hosts.includes(hostname)) domains.delete(hostname)
    }
    for (const hostname of hosts) domains.set(hostname, { id: randomUUID(), hostname, service: name })
    return hosts.map((host) => domains.get(host))
  }

  const list = ({ query }: Call) =>
    [...domains.values()].filter(
      ({ hostname, service }) => service !== undefined && [null, hostname].includes(query.get('hostname')),
    )

  const find = (id: string) => {
    const domain = [...domains.values()].find((one) => one.id === id)
    if (!isJsonObject(domain)) throw new Refusal(404, 100114, 'The domain does not exist.')
    return domain
  }

  return {
    'GET /workers/domains': list,
    'GET /workers/domains/records/:id': (_, id = '') => find(id),
    'POST /workers/scripts/:name/domains/changeset': (call, name = '') => compare(call, name),
    'PUT /workers/scripts/:name/domains/records': (call, name = '') => put(call, name),
  }
}
