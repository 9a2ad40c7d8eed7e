// Whose client secret a text is: only a salted hash of each is stored, so every live one is tried.
import { readPbkdf2Iterations } from '../../api/config.ts'
import { findMatchingHash, isClientSecret } from '../../crypto/client-secret.ts'
import { selectStoredSecrets, type StoredSecret } from '../../db/partner-queries.ts'
import type { Store } from '../store/store.ts'
import type { OnProgress } from './publications.ts'
import { UserError } from './user-error.ts'

/** @throws UserError when the text can't be a secret of this service. */
export function checkClientSecret(text: string): void {
  if (isClientSecret(text)) return
  throw new UserError(
    'This is no secret of this service: a secret has the form pcs_… with the right checksum, or is 40 letters and digits. Pass it alone, without its name, quotes or spaces.',
  )
}

/** @throws UserError when no live secret matches. */
export async function findSecretOwner(
  { db, config, target }: Store,
  clientSecret: string,
  onProgress: OnProgress,
): Promise<Omit<StoredSecret, 'hash'>> {
  const secrets = await selectStoredSecrets(db)
  // Each call costs two derivations, also for one hash.
  for (let index = 0; index < secrets.length; index += 2) {
    onProgress('Comparing with the live secrets', index, secrets.length)
    const pair = secrets.slice(index, index + 2)
    const hashes = pair.map(({ hash }) => hash)
    const found = await findMatchingHash(clientSecret, hashes, readPbkdf2Iterations(config))
    const match = pair.find(({ hash }) => hash === found)
    if (match !== undefined) {
      const { hash: _, ...owner } = match
      return owner
    }
  }
  const where = target.remote ? `[env.${target.env}]` : 'the local state'
  throw new UserError(`No live secret of ${where} matches: it has ended, or is of another environment.`)
}
