// What only Cloudflare's dashboard can set. A test plays its owner.

/** A new account has nothing of it but the paid plan. */
export interface Dashboard {
  hasPaidPlan: boolean
  hasAnalyticsEngine: boolean
  /** The account's name at workers.dev. */
  subdomain: string | undefined
  /** The hosts with a configuration rule that switches Browser Integrity Check off. It is on for every other host of a zone. */
  uncheckedHosts: Set<string>
}

export const subdomain = 'example'

const pages: Record<string, (dashboard: Dashboard) => void> = {
  'workers/analytics-engine': (dashboard) => {
    dashboard.hasAnalyticsEngine = true
  },
  'workers/onboarding': (dashboard) => {
    dashboard.subdomain = subdomain
  },
}

/** Opens every link to the dashboard in a text, and presses what is there. @returns the links. */
export function useDashboard(dashboard: Dashboard, text: string): string[] {
  return [...text.matchAll(/https:\/\/dash\.cloudflare\.com\/\?to=\/:account\/([\w/-]+)/g)].map(([link, path = '']) => {
    const press = pages[path]
    if (press === undefined) throw new Error(`the dashboard has no page ${link}`)
    press(dashboard)
    return link
  })
}

/** Creates the configuration rule that a text describes. */
export function createRule(dashboard: Dashboard, text: string): void {
  const [, host] = /`http\.host eq "([\w.-]+)"`,\s+and\s+set\s+Browser Integrity Check\s+to off/.exec(text) ?? []
  if (host === undefined) throw new Error('the text describes no rule')
  dashboard.uncheckedHosts.add(host)
}
