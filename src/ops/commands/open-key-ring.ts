import { systemClock } from '../core/clock.ts'
import { createDeployedKeyRing } from '../core/deployed-keys.ts'
import type { KeyRing } from '../core/key-ring.ts'
import { createLocalKeyRing } from '../core/local-keys.ts'
import { devVarsFile, openDevVars } from '../store/dev-vars.ts'
import { openWorkerSecrets } from '../store/worker-secrets.ts'
import type { Target } from '../shared/target.ts'

export function openKeyRing(target: Target): KeyRing {
  return target.remote
    ? createDeployedKeyRing(openWorkerSecrets(target), target, systemClock)
    : createLocalKeyRing(openDevVars(devVarsFile), systemClock)
}
