import { expect, test } from 'vitest'
import { createExactRouter } from '../../../src/worker/http/routes.ts'

const router = createExactRouter<string>()
router.add('ALL', '/*', 'every request')
router.add('POST', '/partners/auth', 'token')
router.add('ALL', '/partners/auth', 'other method')
router.add('GET', '/partners/:shortName/plans', 'plans')
router.add('GET', '/partners/:shortName/plans/:id', 'plan')

test.each([
  ['POST', '/partners/auth', ['token', 'other method']],
  ['GET', '/partners/auth', ['other method']],
  ['GET', '/partners/acme/plans', ['plans']],
  ['GET', '/partners/acme/plans/1', ['plan']],
  ['POST', '/partners/acme/plans', []],
  ['GET', '/partners/acme/plans/', []],
  ['GET', '/partners//plans', []],
  ['GET', '/partners/a/b/plans', []],
  ['GET', '/x/partners/acme/plans', []],
  ['GET', '/partners/:shortName/plan', []],
  ['POST', '/partners/auth/', []],
  ['GET', '/', []],
])('%s %s', (method, path, handlers) => {
  expect(router.match(method, path)[0].map(([handler]) => handler)).toEqual(['every request', ...handlers])
})

test('names the parameters of a path', () => {
  expect(router.match('GET', '/partners/%20acme/plans/1')[0][1]?.[1]).toEqual({ shortName: '%20acme', id: '1' })
})
