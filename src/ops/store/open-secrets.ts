import type { Target } from '../shared/target.ts'
import { devVarsFile, openDevVars } from './dev-vars.ts'
import { openWorkerSecrets, type WorkerSecrets } from './worker-secrets.ts'

export function openSecrets(target: Target): WorkerSecrets {
  return target.remote ? openWorkerSecrets(target) : openDevVars(devVarsFile)
}
