/** The origin that the build knows, so it writes every file. On this machine, "Try it" has its form. */
export const builtOrigin = 'http://localhost'

/** What start-site.ts provides to the tests. */
export interface ProvidedSite {
  origin: string
  /** The WebSocket address of the running Chromium. */
  browserEndpoint: string
  /** `demo` has the demo plans of Kenya, `empty` none, `markup` one whose texts contain markup. */
  partners: Record<'demo' | 'empty' | 'markup', Credentials>
  /** One for each case of the sandbox, by country. */
  sandbox: Record<string, Credentials>
  /** The texts of that plan, and the URL of its artwork. */
  markup: string
  markupUrl: string
}

export type Credentials = Record<'clientId' | 'clientSecret' | 'shortName', string>

declare module 'vitest' {
  interface ProvidedContext {
    site: ProvidedSite
  }
}
