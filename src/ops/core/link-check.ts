// Whether the links of plans lead anywhere.
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { Finding } from './plan-rules.ts'
import type { OnProgress } from './publications.ts'

const linkFields = ['imageUrl', 'thumbnail', 'factSheet', 'prospectus'] as const
const maxConcurrent = 6
const deadlineMs = 10_000
/** There is no such page. Any other failure may pass, or be meant for programs like this one. */
const deadStatuses = new Set([404, 410])

/** Requests each address once. A dead link is an error; another failure is a warning. */
export async function checkLinks(plans: readonly CatalogPlan[], onProgress: OnProgress): Promise<Finding[]> {
  const links = plans.flatMap((plan) => linkFields.map((field) => ({ plan, field, url: plan[field] })))
  const urls = [...new Set(links.map(({ url }) => url))]
  const answers = new Map<string, number | string>()
  let next = 0
  const work = async () => {
    for (let url = urls[next++]; url !== undefined; url = urls[next++]) {
      answers.set(url, await readStatus(url))
      onProgress('Requesting the links', answers.size, urls.length)
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, work))
  return links.flatMap(({ plan: { identifier: subject }, field, url }): Finding[] => {
    const answer = answers.get(url)
    if (typeof answer === 'string') return [{ level: 'warning', subject, message: `${field} ${url}: ${answer}.` }]
    if (answer === undefined || answer < 400) return []
    const level = deadStatuses.has(answer) ? 'error' : 'warning'
    return [{ level, subject, message: `${field} ${url} answers ${answer}.` }]
  })
}

/** @returns the status, or why there is none. */
async function readStatus(url: string): Promise<number | string> {
  try {
    const head = await request(url, 'HEAD')
    // Some servers don't know HEAD.
    return head < 400 ? head : await request(url, 'GET')
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${deadlineMs / 1000} s`
    const cause = error instanceof Error ? error.cause : undefined
    return cause instanceof Error && 'code' in cause
      ? `it can’t be reached (${String(cause.code)})`
      : 'it can’t be reached'
  }
}

async function request(url: string, method: 'HEAD' | 'GET'): Promise<number> {
  const { status, body } = await fetch(url, { method, signal: AbortSignal.timeout(deadlineMs) })
  await body?.cancel()
  return status
}
