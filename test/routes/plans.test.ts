import { expect, test } from 'vitest'
import { fetchToken, requestPlans } from '../support/requests.ts'
import { makePlan, seedPartner, seedPlans } from '../support/seed.ts'

test('a partner exchanges its credentials for a token and lists a plan', async () => {
  const { viewableIn: _, ...plan } = makePlan()
  await seedPlans(makePlan())
  const partner = await seedPartner()

  const response = await requestPlans(partner.shortName, await fetchToken(partner))

  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({ message: 'Plans fetched successfully', data: { total: 1, plans: [plan] } })
})
