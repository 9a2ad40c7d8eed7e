// Explains errors of the user's machine, so that they don't look like a bug.
import { getSystemErrorMessage } from 'node:util'
import { readPath } from '../../json.ts'

/** @returns such as `permission denied`; undefined for an error that does not come from the operating system. */
export function findReason(error: unknown): string | undefined {
  const [number, call] = [readPath(error, 'errno'), readPath(error, 'syscall')]
  return typeof number === 'number' && typeof call === 'string' ? getSystemErrorMessage(number) : undefined
}

/**
 * @returns a sentence, with a space before it, if Node lacks a variable that it needs to use a proxy or a private certificate authority.
 */
export function findNetworkHint(error: unknown): string {
  if (/CERT|LEAF_SIGNATURE/.test(String(readPath(error, 'cause', 'code')))) {
    return ' Node does not know the certificate: set NODE_EXTRA_CA_CERTS to the file of your authority, in PEM.'
  }
  const { HTTPS_PROXY, https_proxy: lowerCase, NODE_USE_ENV_PROXY } = process.env
  return (HTTPS_PROXY || lowerCase) && NODE_USE_ENV_PROXY !== '1'
    ? ' HTTPS_PROXY is set, and Node does not use it: set NODE_USE_ENV_PROXY=1.'
    : ''
}
