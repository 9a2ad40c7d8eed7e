// Starts the site once for all browser tests: the Worker as deployed and the site's files in workerd, and Chromium.
// Node only.
import { access } from 'node:fs/promises'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { demoCases } from '../../../src/catalog/demo-cases.ts'
import { buildBundle, createPartner, importPlans, startService } from '../../bench/service.ts'
import { readDemoPlans } from '../../support/demo-plans.ts'
import { builtOrigin, type Credentials, type ProvidedSite } from './provided-site.ts'

/** Runs a script, or breaks out of an attribute, in a page that doesn't escape it. */
const markup = `<img src=x onerror=alert(1)>"'&lt;`
const markupUrl = 'https://images.example.com/"onerror="alert(1)'

/** Vitest calls this before the first test file, and the function that it returns after the last. */
export default async function startSite({ provide }: TestProject): Promise<() => Promise<void>> {
  const browserServer = await startBrowser()
  process.env['SITE_ORIGIN'] = builtOrigin
  const { d1, origin, stop } = await startService(await buildBundle(), { hasSite: true })
  await importDemoPlans(d1)
  const site: ProvidedSite = {
    origin,
    browserEndpoint: browserServer.wsEndpoint(),
    partners: {
      demo: await createPartner(d1, 'demo', 'KE'),
      empty: await createPartner(d1, 'empty', 'ZA'),
      markup: await createPartner(d1, 'markup', 'ZM'),
    },
    sandbox: await createSandboxPartners(d1),
    markup,
    markupUrl,
  }
  provide('site', site)
  return async () => {
    await browserServer.close()
    await stop()
  }
}

async function createSandboxPartners(d1: D1Database): Promise<Record<string, Credentials>> {
  const partners: Record<string, Credentials> = {}
  for (const country of Object.keys(demoCases))
    partners[country] = await createPartner(d1, `test-${country.toLowerCase()}`, country)
  return partners
}

async function startBrowser() {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  await access(executablePath).catch(() => {
    throw new Error(`${executablePath} doesn't exist. Install Chromium, or set CHROMIUM to its path.`)
  })
  const disabled = ['gpu', 'quic', 'background-networking', 'component-update', 'sync']
  const args = ['--no-sandbox', '--no-first-run', ...disabled.map((name) => `--disable-${name}`)]
  return chromium.launchServer({ executablePath, args, host: '127.0.0.1' })
}

/** Imports the demo catalog, and a plan with markup in all its texts. */
async function importDemoPlans(d1: D1Database): Promise<void> {
  const plans = await readDemoPlans()
  const [plan] = plans
  if (plan === undefined) throw new Error('src/catalog/demo.json has no plans.')
  const names = ['name', 'coolName', 'about', 'hint', 'sector', 'fundType', 'profitTypeDescription', 'tenor']
  const texts = Object.fromEntries(names.map((name) => [name, markup]))
  const urls = { imageUrl: markupUrl, factSheet: markupUrl }
  const rest = { category: null, planType: null, performance1: -12.5, viewableIn: ['ZM'] }
  await importPlans(d1, [...plans, { ...plan, id: 900_001, identifier: 'markup', ...texts, ...urls, ...rest }])
}
