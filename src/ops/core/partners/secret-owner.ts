// Finds the partners whose secrets and tokens leaked, and says whether the service still accepts these secrets and tokens. The database
// stores only a salted hash of each client secret, so a secret is compared with the hashes of all partners. A token names its partner.
import { readPbkdf2Iterations } from '../../../api/config.ts'
import { decodeBase64Url } from '../../../crypto/base64.ts'
import { findMatchingHash } from '../../../crypto/client-secret.ts'
import { selectPartners, selectStoredSecrets, type LiveSecret } from '../../../db/partner-queries.ts'
import { isJsonObject, parseJson } from '../../../json.ts'
import type { Store } from '../../store/store.ts'
import { describeShortNameProblem, readPartnerStatus, type Partner } from './partner-accounts.ts'
import { findSecrets, type FoundSecret } from '../../shared/secret-forms.ts'

/** The claims of a token whose signature was not checked: somebody may have forged it. Times are Unix seconds. */
export interface TokenClaims {
  clientId: string
  /** The short name of the partner; undefined when the token has none that is valid. */
  shortName: string | undefined
  createdAt: number
  expiresAt: number
}

/** A secret that was found in a text: see `SecretKind`. */
export type Leak = Omit<FoundSecret, 'kind'> &
  ({ kind: 'token'; claims: TokenClaims } | { kind: 'signing-key' | 'secret' | 'key-name' })

/** The times of a secret or a token, with its owner. */
export interface OwnedLeak extends LiveSecret {
  partner: Partner
  /** `accepted`, or why the service refuses the secret or the token. */
  state: string
}

const kindsWorstFirst: readonly Leak['kind'][] = ['signing-key', 'secret', 'token', 'key-name']

export interface Leaks {
  /** In the order of `kindsWorstFirst`. */
  leaks: Leak[]
  /** The numbers of the lines with a possible secret that can't be compared with the secrets of the service: see `SecretKind`. */
  suspectLines: Record<'cut-secret' | 'possible-key', number[]>
}

/** Finds secrets, keys, and tokens of this service in a text: only the newest token of each client, because one command ends them all. */
export function findLeaks(text: string): Leaks {
  const leaks: Leak[] = []
  const suspectLines: Leaks['suspectLines'] = { 'cut-secret': [], 'possible-key': [] }
  const newestTokens = new Map<string, Extract<Leak, { kind: 'token' }>>()
  for (const { kind, ...secret } of findSecrets(text)) {
    if (kind === 'cut-secret' || kind === 'possible-key') suspectLines[kind].push(secret.line)
    else if (kind !== 'token') leaks.push({ kind, ...secret })
    else {
      const claims = readClaims(secret.text)
      if (claims === undefined) continue
      const newestSoFar = newestTokens.get(claims.clientId)
      const isNewest = newestSoFar === undefined || newestSoFar.claims.createdAt < claims.createdAt
      if (isNewest) newestTokens.set(claims.clientId, { kind, ...secret, claims })
    }
  }
  const getRank = ({ kind }: Leak) => kindsWorstFirst.indexOf(kind)
  return { leaks: [...leaks, ...newestTokens.values()].toSorted((a, b) => getRank(a) - getRank(b)), suspectLines }
}

/** Reads the claims of a token. @param payload the second part of the token. @returns undefined unless it has `sub`, `iat` and `exp`, as every token of this service. */
function readClaims(payload: string): TokenClaims | undefined {
  const bytes = decodeBase64Url(payload)
  const claims = bytes && parseJson(new TextDecoder().decode(bytes))
  const { sub, partner, iat, exp } = isJsonObject(claims) ? claims : {}
  if (typeof sub !== 'string' || !isUnixSeconds(iat) || !isUnixSeconds(exp)) return undefined
  const isShortName = typeof partner === 'string' && describeShortNameProblem(partner) === undefined
  return { clientId: sub, shortName: isShortName ? partner : undefined, createdAt: iat, expiresAt: exp }
}

/** Accepts only times that can be printed as a date: a forged token may have any number. */
const isUnixSeconds = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 1e11

/** The partners and secrets of the database, among which the owner of a secret or a token is found. */
export interface Owners {
  partners: readonly Partner[]
  liveSecrets: Awaited<ReturnType<typeof selectStoredSecrets>>
  /** The iterations of PBKDF2 that made the hashes. */
  iterations: number
}

/** @throws ConfigError when PBKDF2_ITERATIONS is wrong. */
export async function readOwners({ db, config }: Store): Promise<Owners> {
  const partners = await selectPartners(db)
  return { partners, liveSecrets: await selectStoredSecrets(db), iterations: readPbkdf2Iterations(config) }
}

/** Computes a hash for each live secret, because each has its own salt. @returns undefined when no live secret matches. */
export async function findSecretOwner(
  clientSecret: string,
  { partners, liveSecrets, iterations }: Owners,
): Promise<OwnedLeak | undefined> {
  const hashes = liveSecrets.map(({ hash }) => hash)
  const matchingHash = await findMatchingHash(clientSecret, hashes, iterations)
  const match = liveSecrets.find(({ hash }) => hash === matchingHash)
  const partner = partners.find(({ shortName }) => shortName === match?.shortName)
  if (match === undefined || partner === undefined) return undefined
  return { partner, createdAt: match.createdAt, expiresAt: match.expiresAt, state: describeAccess(partner) }
}

/** @returns the partner with the client ID of the token, also if the token is refused; undefined without such a partner. */
export function findTokenOwner(
  claims: TokenClaims,
  { partners }: Pick<Owners, 'partners'>,
  nowSeconds: number,
): OwnedLeak | undefined {
  const { clientId, createdAt, expiresAt } = claims
  const partner = partners.find((candidate) => candidate.clientId === clientId)
  return partner && { partner, createdAt, expiresAt, state: describeTokenState(claims, partner, nowSeconds) }
}

function describeTokenState({ createdAt, expiresAt }: TokenClaims, partner: Partner, nowSeconds: number): string {
  if (createdAt < (partner.tokensValidFrom ?? 0)) return 'refused: issued before the partner’s tokens were ended'
  if (expiresAt <= nowSeconds) return 'refused: expired'
  return partner.suspendedAt === null ? 'accepted, if a current key signed the token' : describeAccess(partner)
}

function describeAccess(partner: Partner): string {
  const status = readPartnerStatus(partner)
  return status === 'active' ? 'accepted' : `refused: the partner is ${status}`
}
