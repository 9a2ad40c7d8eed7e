// The changes of a partner that tests make: of acme, on the store of the test's own Worker, unless a test says otherwise.
import {
  changePartner,
  createPartner,
  findOpenPartner,
  findPartner,
  replaceSecret,
  type NewPartner,
  type Operator,
  type PartnerRequest,
} from '../../../src/ops/core/partner-accounts.ts'
import type { SecretReplacement } from '../../../src/db/partner-changes.ts'
import { operator, store } from './worker-store.ts'

export const acme: NewPartner = { shortName: 'acme', name: 'Acme "Wallet"', country: 'KE' }

/** @param by makes the changes; by default, a warning is an error. */
export function createChanges(by: Operator = operator) {
  const request = (change: PartnerRequest, on = store) => changePartner(on, change, by)
  const replace = async (replacement: SecretReplacement, on = store, shortName = 'acme') =>
    replaceSecret(on, await findOpenPartner(on, shortName, 'renew', by.warn), replacement, by)
  return {
    create: (overrides: Partial<NewPartner> = {}, on = store) =>
      createPartner(on, { ...acme, ...overrides }, by.attribution),
    find: () => findPartner(store, 'acme'),
    listSecrets: async () => (await findPartner(store, 'acme')).secrets,
    change: (kind: 'suspend' | 'resume' | 'close' | 'end-tokens', on = store) => request({ kind, partner: 'acme' }, on),
    move: (country: string, on = store) => request({ kind: 'set', partner: 'acme', country }, on),
    rename: (name: string, on = store) => request({ kind: 'set', partner: 'acme', name }, on),
    setContact: (contact: string | null, on = store) => request({ kind: 'set', partner: 'acme', contact }, on),
    replace,
    rotate: (graceSeconds: number, on = store) => replace({ kind: 'rotate', graceSeconds }, on),
    replaceNewest: (on = store) => replace({ kind: 'replace-newest' }, on),
    lockDown: (on = store) => replace({ kind: 'lockdown' }, on),
  }
}
