/** What start-site.ts provides to the tests. */
export interface ProvidedSite {
  origin: string
  /** The WebSocket address of the running Chromium. */
  browserEndpoint: string
  tokenLifetimeSeconds: number
  partners: {
    /** In Kenya, with its plans of the demo catalog. */
    demo: Credentials
    /** In a country without plans. */
    empty: Credentials
    /** In a country with one plan, whose texts contain markup. */
    markup: Credentials
  }
  /** The texts of that plan, and the URL of its artwork. */
  markup: string
  markupUrl: string
}

export interface Credentials {
  clientId: string
  clientSecret: string
  shortName: string
}

declare module 'vitest' {
  interface ProvidedContext {
    site: ProvidedSite
  }
}
