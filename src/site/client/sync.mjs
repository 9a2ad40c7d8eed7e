// Needs Node 22.18 or newer, and investment-plans.mts beside it.
// Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { InvestmentPlansClient } from './investment-plans.mts'

const copyFile = join(import.meta.dirname, 'plans.json')
const { API, CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env
const credentials = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, shortName: SHORT_NAME }

function stop(reason) {
  console.error(reason)
  process.exit(1)
}

// The list as it was received, with its ETag, and the plans that were removed from it.
const noCopy = { etag: null, plans: [], removed: [] }
const copy = existsSync(copyFile) ? JSON.parse(readFileSync(copyFile, 'utf8')) : noCopy
const client = new InvestmentPlansClient({ baseUrl: API, ...credentials })
const { etag, plans } = await client.fetchList({}, copy).catch(({ code, message, requestId }) => {
  stop(`${code}: ${message} (request ${requestId})`)
})

const before = new Map(copy.plans.map((plan) => [plan.identifier, plan]))
const listed = new Set(plans.map((plan) => plan.identifier))
const gone = copy.plans.filter((plan) => !listed.has(plan.identifier))
if (gone.length > copy.plans.length / 2 && !process.argv.includes('--confirmed'))
  stop('More than half of the plans were removed. Ask support, then run this with --confirmed.')
for (const plan of plans) {
  const known = before.get(plan.identifier)
  if (!known) console.log('show', plan.identifier)
  else if (!isDeepStrictEqual(known, plan)) console.log('update', plan.identifier)
}
for (const plan of gone) console.log('stop offering', plan.identifier)

// A plan that was removed earlier keeps its time. One that is listed again is no longer removed.
const removedAt = new Date().toISOString()
const removed = copy.removed.filter((plan) => !listed.has(plan.identifier))
for (const plan of gone) removed.push({ ...plan, removedAt })

// At the end, so that the next run repeats all changes of a run that fails. The rename keeps the old
// file whole until then.
writeFileSync(`${copyFile}.new`, JSON.stringify({ etag, plans, removed }))
renameSync(`${copyFile}.new`, copyFile)
