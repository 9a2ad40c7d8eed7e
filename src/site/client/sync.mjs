// Needs Node 22.18 or newer, and investment-plans.mts beside it. With Node 20.11 or newer, install
// the package instead (see /client), and import from 'investment-plans'.
// Set API, CLIENT_ID, CLIENT_SECRET and SHORT_NAME.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { InvestmentPlansClient } from './investment-plans.mts'

const copyFile = join(import.meta.dirname, 'plans.json')
const { API, CLIENT_ID, CLIENT_SECRET, SHORT_NAME } = process.env
const credentials = { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, shortName: SHORT_NAME }

function log(...words) {
  console.error(new Date().toISOString(), ...words)
}

function stop(reason) {
  log(reason)
  process.exit(1)
}

async function fetchAndLog(url, init) {
  const response = await fetch(url, init)
  log(response.status, new URL(url).pathname, 'request', response.headers.get('X-Request-Id'))
  return response
}

// Returns the list as the service sent it, with its ETag, and the plans that were removed from it.
function readCopy() {
  try {
    return JSON.parse(readFileSync(copyFile, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return { etag: null, plans: [], removed: [] }
    stop(`${copyFile} is damaged. Restore it, or delete it to begin again.`)
  }
}

async function fetchList(copy) {
  try {
    const client = new InvestmentPlansClient({ baseUrl: API, ...credentials, fetch: fetchAndLog })
    return await client.fetchList({}, copy)
  } catch (error) {
    stop(`${error.code ?? error.name}: ${error.message}`)
  }
}

const copy = readCopy()
const { etag, plans } = await fetchList(copy)

const knownPlans = new Map(copy.plans.map((plan) => [plan.identifier, plan]))
const listedIdentifiers = new Set(plans.map((plan) => plan.identifier))
const newlyRemoved = copy.plans.filter((plan) => !listedIdentifiers.has(plan.identifier))
if (newlyRemoved.length > copy.plans.length / 2 && !process.argv.includes('--confirmed'))
  stop('More than half of the plans were removed. Ask support, then run this with --confirmed.')
for (const plan of plans) {
  const knownPlan = knownPlans.get(plan.identifier)
  if (!knownPlan) console.log('show', plan.identifier)
  else if (!isDeepStrictEqual(knownPlan, plan)) console.log('update', plan.identifier)
}
for (const plan of newlyRemoved) console.log('stop offering', plan.identifier)

// A plan that was removed earlier keeps the time of its removal. A plan that is listed again is no
// longer removed.
const removedAt = new Date().toISOString()
const removed = copy.removed.filter((plan) => !listedIdentifiers.has(plan.identifier))
for (const plan of newlyRemoved) removed.push({ ...plan, removedAt })

// The copy is saved at the end: if a run fails, the next run prints its changes again. The rename
// makes sure that the file is always complete.
writeFileSync(`${copyFile}.new`, JSON.stringify({ etag, plans, removed }))
renameSync(`${copyFile}.new`, copyFile)
