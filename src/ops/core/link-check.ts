// Whether the links of plans lead anywhere.
import { setTimeout } from 'node:timers/promises'
import type { CatalogPlan } from '../../catalog/plan-schema.ts'
import type { Finding } from './plan-rules.ts'
import type { OnProgress } from './publications.ts'

const linkFields = ['imageUrl', 'thumbnail', 'factSheet', 'prospectus'] as const
const maxConcurrent = 6
const deadlineMs = 10_000
const retryDelayMs = 1000
/** Node's codes for a certificate: https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const certificateCodes =
  /CERT|^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH)$/

type LinkProblem = Pick<Finding, 'level' | 'message'>

/** Requests each address. A dead link is an error; another failure is a warning. */
export async function checkLinks(plans: readonly CatalogPlan[], onProgress: OnProgress): Promise<Finding[]> {
  const links = plans.flatMap((plan) => linkFields.map((field) => ({ plan, field, url: plan[field] })))
  const urls = [...new Set(links.map(({ url }) => url))]
  const answers = new Map<string, LinkProblem | undefined>()
  let next = 0
  const work = async () => {
    for (let url = urls[next++]; url !== undefined; url = urls[next++]) {
      answers.set(url, await findProblem(url))
      onProgress('Requesting the links', answers.size, urls.length)
    }
  }
  await Promise.all(Array.from({ length: maxConcurrent }, work))
  return links.flatMap(({ plan: { identifier: subject }, field, url }): Finding[] => {
    const problem = answers.get(url)
    return problem ? [{ level: problem.level, subject, message: `${field} ${url} ${problem.message}.` }] : []
  })
}

/** @returns undefined for a link that works. */
async function findProblem(url: string): Promise<LinkProblem | undefined> {
  try {
    const status = await readStatus(url)
    if (status < 400) return undefined
    return { level: isDeadStatus(status) ? 'error' : 'warning', message: `answers ${status}` }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') {
      return { level: 'warning', message: `gives no answer within ${deadlineMs / 1000} s` }
    }
    const cause = error instanceof Error ? error.cause : undefined
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
    const reason = code === undefined ? '' : ` (${code})`
    return { level: isDeadCode(code) ? 'error' : 'warning', message: `can’t be reached${reason}` }
  }
}

/** Another refusal, such as 403 or 429, may be meant for programs like this one. */
function isDeadStatus(status: number): boolean {
  return status === 404 || status === 410 || status >= 500
}

/** The domain does not exist, or its certificate is refused. Another failure of the network may pass. */
function isDeadCode(code = ''): boolean {
  return code === 'ENOTFOUND' || certificateCodes.test(code)
}

async function readStatus(url: string): Promise<number> {
  const head = await request(url, 'HEAD')
  if (head < 400) return head
  // Some servers don't know HEAD.
  const get = await request(url, 'GET')
  if (get < 500) return get
  await setTimeout(retryDelayMs)
  return request(url, 'GET')
}

async function request(url: string, method: 'HEAD' | 'GET'): Promise<number> {
  const { status, body } = await fetch(url, { method, signal: AbortSignal.timeout(deadlineMs) })
  await body?.cancel()
  return status
}
