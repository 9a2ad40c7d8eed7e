// The parts of the errors page that come from the table of error codes: an example of a body, and the advice for each code.
import { refusals, type ErrorCode } from '../../api/error-codes.ts'
import { exampleRequestId } from '../../openapi/openapi-operations.ts'
import { formatCode } from '../markdown.ts'
import { advice, isErrorCode } from './error-advice.ts'

export function formatErrorBlocks(): Record<string, string> {
  const example = { message: refusals.forbidden.message, error: 'forbidden', requestId: exampleRequestId }
  return {
    example: JSON.stringify(example, null, 2),
    advice: Object.keys(refusals).filter(isErrorCode).map(formatAdvice).join('\n\n'),
  }
}

function formatAdvice(code: ErrorCode): string {
  const { cause, fix, request, whyMocked } = advice[code]
  // Puts the address on a line of its own.
  const command = `curl -i ${request.replace(/ (?="[^ ]*"$)/, ' \\\n  ')}`
  const introduction = whyMocked ? `${whyMocked} Let the [mock server](/testing#mock-server) return the error:\n\n` : ''
  return `## ${refusals[code].status} \`${code}\` {#${code}}

**Message:** \`${refusals[code].message}\`

**Cause:** ${cause}

**Fix:** ${fix}

${introduction}${formatCode(command, 'sh')}`
}
