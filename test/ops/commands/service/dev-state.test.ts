// `npm run dev` prints how to use the local partner.
import { expect, test, vi } from 'vitest'
import { printAccess } from '../../../../src/ops/commands/service/dev-state.ts'
import { changePartner } from '../../../../src/ops/core/partners/account-changes.ts'
import { insertPartner } from '../../../support/insert-partner.ts'
import { openBindingStore } from '../../support/binding-store.ts'
import { useMemoryBindings } from '../../support/memory-bindings.ts'

const openBindings = useMemoryBindings()

test('the new secret is of a partner that has not ended', async () => {
  const bindings = openBindings()
  const store = openBindingStore(bindings)
  for (const shortName of ['demo', 'zulu']) {
    await insertPartner(bindings.DB, {
      shortName,
      country: 'KE',
      clientId: shortName.padEnd(16, 'x'),
      secretHash: 'hash',
    })
  }
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const attribution = { actor: 'amina', command: 'partner end demo', note: null }
  const endPartner = (name: string) => changePartner(store, name, { kind: 'end' }, { attribution, warn: () => {} })
  await endPartner('demo')
  await printAccess(store, 'http://localhost:8787')
  expect(write.mock.lastCall?.[0]).toContain('partner rotate zulu --grace 0')
  await endPartner('zulu')
  await printAccess(store, 'http://localhost:8787')
  expect(write.mock.lastCall?.[0]).toContain('partner create --help')
  write.mockRestore()
})
