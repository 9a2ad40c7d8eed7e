// Whose a leaked text is: of a client secret only a salted hash is stored, so every live one is tried. A token names its partner.
import { readPbkdf2Iterations } from '../../api/config.ts'
import { clientSecretPattern, findMatchingHash, isClientSecret } from '../../crypto/client-secret.ts'
import { selectPartner, selectStoredSecrets, type LiveSecret } from '../../db/partner-queries.ts'
import { isJsonObject, parseJson } from '../../json.ts'
import type { Store } from '../store/store.ts'
import { findPartner, readPartnerStatus, type Partner } from './partner-accounts.ts'
import { UserError } from '../shared/user-error.ts'

/** A token is what it says of itself: its signature is not checked. */
export type Leak =
  | { kind: 'secret'; clientSecret: string }
  | { kind: 'token'; clientId: string; createdAt: number; expiresAt: number }

/** Whose a secret or a token is. */
export interface Owned extends LiveSecret {
  kind: Leak['kind']
  partner: Partner
  /** `accepted`, or why it is refused. */
  state: string
}

/**
 * Finds the only secret with the right checksum in a text, also in Base64 and form-encoded, or else the only access token.
 * @throws UserError when there is none, or several.
 */
export function findLeak(text: string): Leak {
  const decoded = text.replaceAll(/[A-Za-z0-9+/=]{40,}/g, (base64) => Buffer.from(base64, 'base64').toString('latin1'))
  const matches = `${text} ${decoded}`.replaceAll(/%5f/gi, '_').match(new RegExp(clientSecretPattern, 'g')) ?? []
  const secrets = new Set(matches.filter(isClientSecret))
  const payloads = new Set([...text.matchAll(/\beyJ[\w-]+\.(eyJ[\w-]+)/g)].flatMap(([, payload = '']) => payload))
  const tokens = [...payloads].flatMap(readToken)
  const [found, ...others] = secrets.size > 0 ? [...secrets].map(toSecret) : tokens
  if (others.length > 0) throw new UserError('This text has several secrets or tokens. Pass each of them alone.')
  if (found !== undefined) return found
  throw new UserError(
    'This is no secret or token of this service: a secret is pcs_ and 36 letters and digits, with the right checksum.',
  )
}

const toSecret = (clientSecret: string): Leak => ({ kind: 'secret', clientSecret })

function readToken(payload: string): Leak[] {
  const claims = parseJson(Buffer.from(payload, 'base64url').toString())
  const { sub, iat, exp } = isJsonObject(claims) ? claims : {}
  if (typeof sub !== 'string' || typeof iat !== 'number' || typeof exp !== 'number') return []
  return [{ kind: 'token', clientId: sub, createdAt: iat, expiresAt: exp }]
}

/** @returns undefined when the secret is no live one, or there is no such partner. */
export async function findOwner(store: Store, leak: Leak, nowSeconds: number): Promise<Owned | undefined> {
  if (leak.kind === 'secret') return findSecretOwner(store, leak.clientSecret)
  const { kind, clientId, createdAt, expiresAt } = leak
  const partner = await selectPartner(store.db, clientId)
  if (partner === undefined) return undefined
  const ended = createdAt < (partner.tokensValidFrom ?? 0) && 'refused: all tokens of that time were ended'
  const isAccepted = partner.suspendedAt === null && 'accepted, if a key of now signed it'
  const state = ended || (expiresAt <= nowSeconds && 'refused: expired') || isAccepted || describeAccess(partner)
  return { kind, partner, createdAt, expiresAt, state }
}

function describeAccess(partner: Partner): string {
  return partner.suspendedAt === null ? 'accepted' : `refused: the partner is ${readPartnerStatus(partner)}`
}

async function findSecretOwner(store: Store, clientSecret: string): Promise<Owned | undefined> {
  const secrets = await selectStoredSecrets(store.db)
  const hashes = secrets.map(({ hash }) => hash)
  const matching = await findMatchingHash(clientSecret, hashes, readPbkdf2Iterations(store.config))
  const match = secrets.find(({ hash }) => hash === matching)
  if (match === undefined) return undefined
  const partner = await findPartner(store, match.shortName)
  const { createdAt, expiresAt } = match
  return { kind: 'secret', partner, createdAt, expiresAt, state: describeAccess(partner) }
}
