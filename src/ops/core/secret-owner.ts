// Whose client secret a text is: only a salted hash of each is stored, so every live one is tried.
import { readPbkdf2Iterations } from '../../api/config.ts'
import { clientSecretPattern, findMatchingHash, isClientSecret } from '../../crypto/client-secret.ts'
import { selectStoredSecrets, type LiveSecret } from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'
import { findPartner, type Partner } from './partner-accounts.ts'
import type { OnProgress } from './publications.ts'
import { UserError } from '../shared/user-error.ts'

/**
 * Finds the only secret with the right checksum in a text, also in Base64 and form-encoded.
 * @throws UserError when there is none, or several.
 */
export function findClientSecret(text: string): string {
  const decoded = text.replaceAll(/[A-Za-z0-9+/=]{40,}/g, (base64) => Buffer.from(base64, 'base64').toString('latin1'))
  const matches = `${text} ${decoded}`.replaceAll(/%5f/gi, '_').match(new RegExp(clientSecretPattern, 'g')) ?? []
  const [found, ...others] = new Set(matches.filter(isClientSecret))
  if (others.length > 0) throw new UserError('This text has several secrets. Pass each of them alone.')
  if (found !== undefined) return found
  if (/\beyJ[\w-]+\.[\w-]+\.[\w-]+/.test(text)) {
    throw new UserError(
      'This looks like an access token, which names its partner: see "A secret leaked" in src/ops/README.md, step 2.',
    )
  }
  throw new UserError(
    'This is no secret of this service: a secret is pcs_ and 36 letters and digits, with the right checksum.',
  )
}

/** @throws UserError when no live secret matches. */
export async function findSecretOwner(
  store: Store,
  clientSecret: string,
  onProgress: OnProgress,
): Promise<{ partner: Partner; secret: LiveSecret }> {
  const { read, config, target } = store
  const secrets = await selectStoredSecrets(read)
  // Each call costs two derivations, also for one hash.
  for (let index = 0; index < secrets.length; index += 2) {
    onProgress('Comparing with the live secrets', index, secrets.length)
    const pair = secrets.slice(index, index + 2)
    const hashes = pair.map(({ hash }) => hash)
    const found = await findMatchingHash(clientSecret, hashes, readPbkdf2Iterations(config))
    const match = pair.find(({ hash }) => hash === found)
    if (match) return { partner: await findPartner(store, match.shortName), secret: match.secret }
  }
  const where = target.remote ? `[env.${target.env}]` : 'the local state'
  throw new UserError(`No live secret of ${where} matches: it has ended, or is of another environment.`)
}
