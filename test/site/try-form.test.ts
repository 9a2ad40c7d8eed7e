import { expect, test } from 'vitest'
import { createTryForm } from '../../src/site/blocks/try-form.ts'

const sandbox = 'https://sandbox.example.org'

test.each([
  ['leads to the sandbox from another service', 'https://plans.example.org', sandbox, `${sandbox}/try`],
  ['has a form in the sandbox', sandbox, sandbox, undefined],
  ['has a form on this machine', 'http://localhost:8787', sandbox, undefined],
  ['has a form if the build does not know its origin', '', sandbox, undefined],
  ['has a form for a test partner while there is no sandbox', 'https://plans.example.org', null, undefined],
])('"Try it" %s', async (_, origin, sandboxOrigin, target) => {
  const block = createTryForm(origin, sandboxOrigin)
  const text = typeof block === 'string' ? block : String(await block.html)
  const [, link] = /\]\((https:[^)]*)\)/.exec(text) ?? []
  expect(link).toBe(target)
  expect(text.includes('name="clientSecret"')).toBe(target === undefined)
  expect(text.includes('credentials of a test partner')).toBe(target === undefined)
})
