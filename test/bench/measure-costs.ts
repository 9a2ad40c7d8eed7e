// What a request costs in calls of KV and D1, and how large the Worker is.
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Bench } from './bench-setup.ts'
import type { Cost } from './slowed.ts'

export type Costs = Record<string, Cost>

export async function measureCosts({ partners, getListUrl, getTokenUrl }: Bench): Promise<Costs> {
  const count = async (url: URL, init: RequestInit) => (await fetch(url, init)).json() as Promise<Cost>
  const list = await getListUrl('UG', 'counted')
  const get = { headers: partners.UG.bearerHeaders }
  const token = await getTokenUrl('counted')
  const post = { method: 'POST', headers: { Authorization: partners.UG.authorization } }
  return {
    'list of 300 plans, D1': await count(list, get),
    'list of 300 plans, memory': await count(list, get),
    'token, first time': await count(token, post),
    'token, known secret': await count(token, post),
  }
}

/** CPU time of the start-up in milliseconds. */
export async function measureStartup(): Promise<number> {
  const project = resolve(import.meta.dirname, '../..')
  const args = ['check', 'startup', '--args=--env=', '--outfile', '/dev/null']
  const { stdout } = await promisify(execFile)(join(project, 'node_modules/.bin/wrangler'), args, { cwd: project })
  return Number(/Active: ([\d.]+) ms/.exec(stdout)?.[1] ?? Number.NaN)
}
