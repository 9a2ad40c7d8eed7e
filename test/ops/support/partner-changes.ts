// The changes of a partner that tests make: of acme, unless a test says otherwise.
import {
  changePartner,
  replaceSecrets,
  type Operator,
  type PartnerRequest,
} from '../../../src/ops/core/partners/account-changes.ts'
import {
  createPartner,
  requirePartner,
  type NewPartner,
  type PartnerFields,
} from '../../../src/ops/core/partners/partner-accounts.ts'
import type { SecretReplacement } from '../../../src/db/partner-changes.ts'
import type { Store } from '../../../src/ops/store/store.ts'

export const acme: NewPartner = { shortName: 'acme', name: 'Acme "Wallet"', country: 'KE' }

/** @param by makes the changes. */
export function createChanges(store: Store, by: Operator) {
  const request = async (change: PartnerRequest, on = store) => {
    await changePartner(on, 'acme', change, by)
    return requirePartner(store, 'acme')
  }
  const replace = async (replacement: SecretReplacement, on = store) => {
    const { credentials, tokensValidFrom } = await replaceSecrets(on, 'acme', replacement, by)
    return { ...credentials, tokensValidFrom }
  }
  return {
    create: (overrides: Partial<NewPartner> = {}, on = store) =>
      createPartner(on, { ...acme, ...overrides }, by.attribution),
    find: () => requirePartner(store, 'acme'),
    listSecrets: async () => (await requirePartner(store, 'acme')).secrets,
    change: (kind: 'suspend' | 'resume' | 'end' | 'end-tokens', on = store) => request({ kind }, on),
    set: (fields: PartnerFields, on = store) => request({ kind: 'set', ...fields }, on),
    rotate: (graceSeconds: number, on = store) => replace({ kind: 'rotate', graceSeconds }, on),
    replaceAll: (on = store) => replace({ kind: 'replace-all' }, on),
    replaceNewest: (on = store) => replace({ kind: 'replace-newest' }, on),
    lockDown: (on = store) => replace({ kind: 'lockdown' }, on),
  }
}
