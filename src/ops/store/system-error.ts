// Explains errors of the user's machine, so that users don't take them for a bug of the program.
import { getSystemErrorMessage } from 'node:util'
import { readPath } from '../../json.ts'

/** Describes an error of the operating system, such as `permission denied`. @returns undefined for any other error. */
export function describeSystemError(error: unknown): string | undefined {
  const [errno, systemCall] = [readPath(error, 'errno'), readPath(error, 'syscall')]
  return typeof errno === 'number' && typeof systemCall === 'string' ? getSystemErrorMessage(errno) : undefined
}

/** Suggests the variable that Node may lack for a proxy or for a private certificate authority. @returns a sentence after a space, or an empty text. */
export function describeNetworkHint(error: unknown): string {
  // Not CERT_HAS_EXPIRED, for example: another authority does not make such a certificate right.
  if (/SELF_SIGNED_CERT|ISSUER_CERT|LEAF_SIGNATURE|CERT_UNTRUSTED/.test(String(readPath(error, 'cause', 'code')))) {
    return ' Node does not know the certificate: set NODE_EXTRA_CA_CERTS to the file of your certificate authority, in PEM.'
  }
  const proxy = process.env['HTTPS_PROXY'] || process.env['https_proxy']
  return proxy && process.env['NODE_USE_ENV_PROXY'] !== '1'
    ? ' HTTPS_PROXY is set, and Node does not use it: set NODE_USE_ENV_PROXY=1.'
    : ''
}
