// node test/checkers/lighthouse-scores.mjs ADDRESS… : measures pages with Lighthouse, as on a phone, one at a time in one Chromium,
// whose path is in CHROME_PATH. Its exit code is 1 when a page has a score below the lowest that passes at each attempt.
import { launch } from 'chrome-launcher'
import lighthouse from 'lighthouse'

const onlyCategories = ['performance', 'accessibility', 'best-practices', 'seo']
/** The best is 1. */
const minScore = 0.95
/** The speed is measured, and now and then Chromium loses the measurements of a page. */
const maxAttempts = 3

const chrome = await launch({ chromeFlags: ['--headless=new', '--no-sandbox'], logLevel: 'silent' })
try {
  let addresses = process.argv.slice(2)
  if (addresses.length === 0) throw new Error('There is no page.')
  for (let attempt = 1; attempt <= maxAttempts && addresses.length > 0; attempt++)
    addresses = await listMissed(addresses)
  process.exitCode = addresses.length > 0 ? 1 : 0
} finally {
  chrome.kill()
}

/** Returns the pages that missed a score, and prints their scores. */
async function listMissed(addresses) {
  const missed = []
  for (const address of addresses) {
    const outcome = await readScores(address).catch(String)
    if (typeof outcome !== 'string' && Object.values(outcome).every((score) => score >= minScore)) continue
    missed.push(address)
    console.log(`${address}: ${JSON.stringify(outcome)}`)
  }
  return missed
}

async function readScores(address) {
  const { lhr } = await lighthouse(address, { port: chrome.port, logLevel: 'silent', onlyCategories })
  if (lhr.runtimeError) throw new Error(lhr.runtimeError.message)
  return Object.fromEntries(onlyCategories.map((name) => [name, lhr.categories[name].score]))
}
