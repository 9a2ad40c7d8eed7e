// Needs Node 22.18 or newer, and investment-plans.mts beside it. Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { InvestmentPlansClient } from './investment-plans.mts'

const copyFile = join(import.meta.dirname, 'plans.json')
const { API: baseUrl, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, SHORT_NAME: shortName } = process.env
const client = new InvestmentPlansClient({ baseUrl, clientId, clientSecret, shortName })

const copy = existsSync(copyFile) ? JSON.parse(readFileSync(copyFile, 'utf8')) : []
const offered = new Map(copy.filter((plan) => !plan.removedAt).map((plan) => [plan.identifier, plan]))
const plans = await client.listPlans()
const listed = new Set(plans.map((plan) => plan.identifier))
const gone = [...offered.keys()].filter((identifier) => !listed.has(identifier))
if (gone.length > offered.size / 2 && !process.argv.includes('--confirmed'))
  throw new Error('More than half of the plans were removed. Ask support. Then run this again with --confirmed.')
for (const plan of plans) {
  const before = offered.get(plan.identifier)
  if (!before) console.log('show', plan.identifier)
  else if (!isDeepStrictEqual(before, plan)) console.log('update', plan.identifier)
}
for (const identifier of gone) console.log('stop offering', identifier)

// A plan that was removed earlier keeps its time. A plan that is listed again is no longer among the removed ones.
const removed = copy.filter((plan) => !listed.has(plan.identifier))
for (const plan of removed) plan.removedAt ??= new Date().toISOString()

// At the end, so that the next run repeats all changes of a run that fails. The rename keeps the old file whole until then.
writeFileSync(`${copyFile}.new`, JSON.stringify([...plans, ...removed]))
renameSync(`${copyFile}.new`, copyFile)
