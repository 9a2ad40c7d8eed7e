// The parts of the errors page that come from the Worker's own table of error codes.
import { refusals, type ErrorCode } from '../../api/error-codes.ts'
import { formatCode } from '../markdown.ts'
import { advice, isErrorCode } from './error-advice.ts'

const codes = Object.keys(refusals).filter(isErrorCode)

export function formatErrorBlocks(): Record<string, string> {
  const requestId = '43462e96-44fc-4132-ae0f-c867b3032b99'
  const example = { message: refusals.forbidden.message, error: 'forbidden', requestId }
  return {
    example: JSON.stringify(example, null, 2),
    advice: codes.map(formatAdvice).join('\n\n'),
  }
}

function formatAdvice(code: ErrorCode): string {
  const { cause, fix } = advice[code]
  return `## ${refusals[code].status} \`${code}\` {#${code}}

**Message:** \`${refusals[code].message}\`

**Cause:** ${cause}

**Fix:** ${fix}

${formatReproduction(code)}`
}

function formatReproduction(code: ErrorCode): string {
  const { request, mock: [reason, prefer] = [] } = advice[code]
  if (request !== undefined) return formatCurl(request)
  // The mock listens at Prism's default port. It requires an Authorization header, with any value.
  const path = code === 'rate_limited' ? 'auth' : '$SHORT_NAME/plans'
  const credentials = code === 'rate_limited' ? '-X POST -u any:any' : '-H "Authorization: Bearer any"'
  const mocked = `${credentials} -H "Prefer: ${prefer}" "http://127.0.0.1:4010/api/v3/partners/${path}"`
  return `${reason} Make the [mock server](/testing#mock-server) return it:\n\n${formatCurl(mocked)}`
}

function formatCurl(curlArguments: string): string {
  // The address stands on a line of its own.
  return formatCode(`curl -i ${curlArguments.replace(/ (?="[^ ]*"$)/, ' \\\n  ')}`, 'sh')
}
