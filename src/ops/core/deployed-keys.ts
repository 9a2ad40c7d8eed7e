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

/** @returns each key once, also when a version lets it wait and another one uses it. */
function readUses(secrets: readonly WorkerSecret[]): Map<string, KeyUse> {
  const { rotated, others, waiting } = listKids(secrets)
  const verifying = [...rotated, ...others]
  return new Map([
    ...verifying.map((kid): [string, KeyUse] => [kid, kid === rotated[0] ? 'signs' : 'verifies']),
    ...waiting.filter((kid) => !verifying.includes(kid)).map((kid): [string, KeyUse] => [kid, 'waits']),
  ])
}

function listKids(secrets: readonly WorkerSecret[]) {
  const names = secrets
    .map(({ name }) => name)
    .toSorted()
    .toReversed()
  const kidsAfter = (prefix: string) =>
    names.flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []))
  const verifying = kidsAfter(verifyPrefix).filter((kid) => !kid.startsWith('NEXT_'))
  return {
    hasSigningKey: names.includes('JWT_KEYS'),
    /** Keys of a rotation, the newest first. */
    rotated: verifying.filter((kid) => readKidTimeMs(kid) !== undefined),
    /** Secrets that somebody set by other means. */
    others: verifying.filter((kid) => readKidTimeMs(kid) === undefined),
    waiting: kidsAfter(nextPrefix),
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
  { waitSeconds, onWait, confirmReplacement, record }: Rotation,
): Promise<void> {
  const listLive = async () => listKids((await secrets.list()).filter(({ isLive }) => isLive))
  const before = await listLive()
  const [latest] = before.rotated
  const key = await generateLaterJwk(latest, clock)
  const obsolete = [...before.waiting]
  if (before.hasSigningKey && latest === undefined) await confirmReplacement()
  await record(key.kid)
  if (before.hasSigningKey) {
    await secrets.put({ [`${nextPrefix}${key.kid}`]: formatKeySet(key) })
    for (let passedSeconds = 0; passedSeconds < waitSeconds; passedSeconds++) {
      onWait(key.kid, passedSeconds)
      await clock.sleep(1000)
    }
    const now = await listLive()
    if (!now.waiting.includes(key.kid) || now.rotated[0] !== latest) {
      const list = describeCommand(target, 'keys', 'list')
      throw new UserError(`Somebody else rotated at the same time. See: ${list}`)
    }
    obsolete.push(key.kid)
  }
  await secrets.put({
    ...Object.fromEntries(obsolete.map((kid) => [`${nextPrefix}${kid}`, null])),
    [`${verifyPrefix}${key.kid}`]: formatKeySet(key),
    JWT_KEYS: formatKeySet(key),
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

function formatKeySet(key: OctJwk): string {
  return JSON.stringify({ keys: [key] })
}
