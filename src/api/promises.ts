// The promises to partners, and the address that they write to. The owner of the service edits this file. The Worker's cache,
// `ops watch`, the site, openapi.json and security.txt read it; after a change, run `npm run generate`. `npm run check` names the
// project's pages that repeat a number and must follow.

/** The target for the requests for tokens, and for those for lists: the share that doesn't fail with 500 or 503. */
export const availabilityTargetPercent = 99.9
/** The availability is computed over as many days. */
export const availabilityDays = 30
/**
 * The day since which the service answers partners on Cloudflare, such as '2027-01-15'. Null: it does not yet, and the page says
 * that only tests support its numbers.
 */
export const inProductionSince: string | null = null

/** A change of a plan or a partner applies everywhere after this time, while D1 answers. The cache keeps to it. */
export const freshnessSeconds = 120

/** While D1 fails, a copy in memory or in KV, of a partner or of a list, may be used for this long. */
export const staleIfErrorHours = 30
/** Copies in KV are renewed when a request finds them older than this. */
export const copyRenewalHours = 1

/** The next version of the API is announced this long before the current one ends. */
export const breakingChangeNoticeDays = 180

/** The history of the API and of the clients, the newest first. A text is Markdown without blocks. */
export const changes = [
  {
    date: '2026-11-23',
    version: '3.0.0',
    text: 'The first version: access tokens, plan lists, `openapi.json` and the clients.',
  },
] as const satisfies HistoryEntry[]

interface HistoryEntry {
  /** YYYY-MM-DD */
  date: string
  version: string
  text: string
}

/** For partners' questions, and for wrong data. */
export const support = { name: 'Partner support', email: 'support@catalog.example.com' }
/** For vulnerabilities. */
export const securityEmail = 'security@catalog.example.com'

/**
 * The address of the sandbox, such as 'https://sandbox.catalog.example.com': "Try it" leads there, because no web page should ask for a
 * secret that counts. Null: there is none, and the page asks for the credentials of a test partner.
 */
export const sandboxOrigin: string | null = null

/** Plan requests of one account that are fair use. Nothing refuses more. */
export const fairUsePerMinute = 60

/** Questions of partners that only the owner can answer, for the block "Support" of the site. The answers are Markdown. */
export const ownerAnswers = {
  'Hours of support': 'None are promised yet, and no time for an answer.',
  Escalation: 'If we don’t answer, ask the person who gave you your credentials.',
  'Mail about incidents': 'Not offered yet.',
  'Region of data':
    'Your requests are answered in Cloudflare’s data center that is nearest to your server. The region of the database is not fixed yet.',
  'License of texts, figures and artwork': 'Not defined yet. Ask before you copy artwork.',
  'Disclaimers that we require': 'None are defined yet. Ask before you go live.',
}
