// Finds the partners whose secrets and tokens leaked, and whether the service still accepts them. The database stores only a salted hash
// of each client secret, so a secret is compared with the hashes of all partners. A token names its partner.
import { readPbkdf2Iterations } from '../../../api/config.ts'
import { decodeBase64Url } from '../../../crypto/base64.ts'
import { findMatchingHash } from '../../../crypto/client-secret.ts'
import { selectPartners, selectStoredSecrets, type LiveSecret } from '../../../db/partner-queries.ts'
import { isJsonObject, parseJson } from '../../../json.ts'
import type { Store } from '../../store/store.ts'
import { findShortNameProblem, readPartnerStatus, type Partner } from './partner-accounts.ts'
import { findSecrets, type FoundSecret } from '../../shared/secret-forms.ts'

/** What a token says. Its signature is not checked, so somebody may have made it up. */
export interface TokenClaims extends Pick<LiveSecret, 'createdAt'> {
  clientId: string
  /** The short name of the partner; undefined when the token has none that is valid. */
  shortName: string | undefined
  expiresAt: number
}

/** A secret in a text: see `SecretKind`. */
export type Leak = Omit<FoundSecret, 'kind'> &
  ({ kind: 'token'; claims: TokenClaims } | { kind: 'signing-key' | 'secret' | 'key-name' })

/** A secret or a token with its owner. */
export interface Owned extends LiveSecret {
  partner: Partner
  /** `accepted`, or why the service refuses the secret or the token. */
  state: string
}

const order: readonly Leak['kind'][] = ['signing-key', 'secret', 'token', 'key-name']

export interface Leaks {
  /** The worst kind first. */
  leaks: Leak[]
  /** The numbers of the lines with a possible secret that can't be compared with the secrets of the service: see `SecretKind`. */
  lines: Record<'cut-secret' | 'possible-key', number[]>
}

/** Finds secrets, tokens and keys in a text that may belong to this service. Of the tokens of one client, finds only the newest. */
export function findLeaks(text: string): Leaks {
  const leaks: Leak[] = []
  const lines: Leaks['lines'] = { 'cut-secret': [], 'possible-key': [] }
  const tokens = new Map<string, Extract<Leak, { kind: 'token' }>>()
  for (const { kind, ...found } of findSecrets(text)) {
    if (kind === 'cut-secret' || kind === 'possible-key') lines[kind].push(found.line)
    else if (kind !== 'token') leaks.push({ kind, ...found })
    else {
      const claims = readToken(found.text)
      const earlier = claims && tokens.get(claims.clientId)
      if (claims && (earlier === undefined || earlier.claims.createdAt < claims.createdAt)) {
        tokens.set(claims.clientId, { kind, ...found, claims })
      }
    }
  }
  leaks.push(...tokens.values())
  return { leaks: leaks.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind)), lines }
}

/** @param payload the second part of a token. @returns undefined for a token of another service. */
function readToken(payload: string): TokenClaims | undefined {
  const bytes = decodeBase64Url(payload)
  const claims = bytes && parseJson(new TextDecoder().decode(bytes))
  const { sub, partner, iat, exp } = isJsonObject(claims) ? claims : {}
  if (typeof sub !== 'string' || !isUnixSeconds(iat) || !isUnixSeconds(exp)) return undefined
  const isNamed = typeof partner === 'string' && findShortNameProblem(partner) === undefined
  return { clientId: sub, shortName: isNamed ? partner : undefined, createdAt: iat, expiresAt: exp }
}

/** Whether a time can be printed as a date: somebody may have made up the token. */
const isUnixSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1e11

/** What the database has to find the owner of a secret or a token. */
export interface Owners {
  partners: readonly Partner[]
  secrets: Awaited<ReturnType<typeof selectStoredSecrets>>
  /** The iterations of PBKDF2 that made the hashes. */
  iterations: number
}

export async function readOwners({ db, config }: Store): Promise<Owners> {
  const partners = await selectPartners(db)
  return { partners, secrets: await selectStoredSecrets(db), iterations: readPbkdf2Iterations(config) }
}

/** Computes a hash for each live secret, because each has its own salt. @returns undefined when the secret is not live. */
export async function findSecretOwner(
  clientSecret: string,
  { partners, secrets, iterations }: Owners,
): Promise<Owned | undefined> {
  const hashes = secrets.map(({ hash }) => hash)
  const matching = await findMatchingHash(clientSecret, hashes, iterations)
  const match = secrets.find(({ hash }) => hash === matching)
  const partner = partners.find(({ shortName }) => shortName === match?.shortName)
  if (match === undefined || partner === undefined) return undefined
  const { createdAt, expiresAt } = match
  return { partner, createdAt, expiresAt, state: describeAccess(partner) }
}

/** @returns undefined when no partner has the client ID of the token. */
export function findTokenOwner(
  { clientId, createdAt, expiresAt }: TokenClaims,
  { partners }: Pick<Owners, 'partners'>,
  nowSeconds: number,
): Owned | undefined {
  const partner = partners.find((one) => one.clientId === clientId)
  if (partner === undefined) return undefined
  const ended = createdAt < (partner.tokensValidFrom ?? 0) && 'refused: all tokens of that time were ended'
  const isAccepted = partner.suspendedAt === null && 'accepted, if a current key signed it'
  const state = ended || (expiresAt <= nowSeconds && 'refused: expired') || isAccepted || describeAccess(partner)
  return { partner, createdAt, expiresAt, state }
}

function describeAccess(partner: Partner): string {
  return partner.suspendedAt === null ? 'accepted' : `refused: the partner is ${readPartnerStatus(partner)}`
}
