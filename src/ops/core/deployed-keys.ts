// The signing keys of a deployed Worker. Cloudflare never returns the value of a secret, so a key can't be moved to
// another secret later. Each key is therefore in two from the start: JWT_KEYS holds the key that signs, JWT_KEYS_<KID>
// each key that verifies. The names of the secrets say which keys there are.
import { generateJwk, readKidTimeMs, type OctJwk } from '../../crypto/signing-keys.ts'
import { describeCommand, type Target } from '../shared/target.ts'
import type { WorkerSecret, WorkerSecrets } from '../store/worker-secrets.ts'
import type { Clock } from './clock.ts'
import type { Key, KeyRing, KeyUse, Rotation } from './key-ring.ts'
import { UserError } from '../shared/user-error.ts'

const verifyPrefix = 'JWT_KEYS_'
/** For a key that every location must know before it signs. */
const nextPrefix = 'JWT_KEYS_NEXT_'

export function createDeployedKeyRing(secrets: WorkerSecrets, target: Target, clock: Clock): KeyRing {
  return {
    list: () => listKeys(secrets),
    checkEditable: secrets.checkEditable,
    rotate: (rotation) => rotateKey(secrets, target, clock, rotation),
    drop: ({ kid, use }) => secrets.put({ [`${use === 'waits' ? nextPrefix : verifyPrefix}${kid}`]: null }),
  }
}

/** After a rollback, the next deploy brings the keys of the latest version back, and drops the others. */
async function listKeys(secrets: WorkerSecrets): Promise<Key[]> {
  const known = await secrets.list()
  const now = readUses(known.filter(({ isLive }) => isLive))
  const next = readUses(known.filter(({ isKept }) => isKept))
  const starting = new Map(
    [...next].filter(([kid, use]) => !now.has(kid) || (now.get(kid) === 'waits' && use !== 'waits')),
  )
  return [
    ...[...now]
      .filter(([kid]) => !starting.has(kid))
      .map(([kid, use]) => (next.has(kid) ? { kid, use } : { kid, use, endsWithDeploy: true })),
    ...[...starting].map(([kid, use]) => ({ kid, use, startsWithDeploy: true })),
  ]
}

/** @returns each key once, the signing key first, also when a version lets it wait and another one uses it. */
function readUses(secrets: readonly WorkerSecret[]): Map<string, KeyUse> {
  const { signing, verifying, waiting } = listKids(secrets)
  const uses = new Map<string, KeyUse>(signing === undefined ? [] : [[signing, 'signs']])
  for (const kid of verifying) if (kid !== signing) uses.set(kid, 'verifies')
  for (const kid of waiting) if (!uses.has(kid)) uses.set(kid, 'waits')
  return uses
}

/** Lists the newest first. */
function listKids(secrets: readonly WorkerSecret[]) {
  const names = secrets.map(({ name }) => name).toSorted((a, b) => (a < b ? 1 : -1))
  const listAfter = (prefix: string) =>
    names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length))
  const verifying = listAfter(verifyPrefix).filter((kid) => !kid.startsWith('NEXT_'))
  return {
    hasSigningKey: names.includes('JWT_KEYS'),
    /** Of the last rotation: secrets that somebody set by other means only verify. */
    signing: verifying.find((kid) => readKidTimeMs(kid) !== undefined),
    verifying,
    waiting: listAfter(nextPrefix),
  }
}

/**
 * Two steps, each one change of the Worker: the new key verifies everywhere first, then it signs. An interruption in
 * between loses nothing: the key before still signs, and the next rotation deletes the waiting key. When two people
 * rotate at the same time, the later rotation wins.
 */
async function rotateKey(
  secrets: WorkerSecrets,
  target: Target,
  clock: Clock,
  { waitSeconds, onWait, confirmReplacement, recorded }: Rotation,
): Promise<void> {
  const listLive = async () => listKids((await secrets.list()).filter(({ isLive }) => isLive))
  const { hasSigningKey, signing: latest, waiting: obsolete } = await listLive()
  const key = await generateLaterJwk(latest, clock)
  const { kid } = key
  const keySet = JSON.stringify({ keys: [key] })
  if (hasSigningKey && latest === undefined) await confirmReplacement()
  await recorded(kid, async () => {
    if (hasSigningKey) {
      await secrets.put({ [`${nextPrefix}${kid}`]: keySet })
      for (let passedSeconds = 0; passedSeconds < waitSeconds; passedSeconds++) {
        onWait(kid, passedSeconds)
        await clock.sleep(1000)
      }
      const now = await listLive()
      if (!now.waiting.includes(kid) || now.signing !== latest) {
        const list = describeCommand(target, 'keys', 'list')
        throw new UserError(`Somebody else rotated at the same time. See: ${list}`)
      }
      obsolete.push(kid)
    }
    const deleted = Object.fromEntries(obsolete.map((old) => [`${nextPrefix}${old}`, null]))
    await secrets.put({ ...deleted, [`${verifyPrefix}${kid}`]: keySet, JWT_KEYS: keySet })
  })
}

/** The time in a key ID, in seconds, says which key signs: a new one must be later than the latest. */
async function generateLaterJwk(latestKid: string | undefined, { nowMs, sleep }: Clock): Promise<OctJwk> {
  const latestMs = latestKid === undefined ? 0 : (readKidTimeMs(latestKid) ?? 0)
  if (latestMs > nowMs()) {
    throw new UserError(`The clock of this machine is behind the last rotation, ${latestKid}. Set the clock.`)
  }
  if (nowMs() - latestMs < 1000) await sleep(1000)
  return generateJwk(new Date(nowMs()))
}
