// Holds the promises to partners, and the addresses for their mail, which the owner of the service edits. The Worker's cache, `ops watch`,
// the site, openapi.json and security.txt read them. After a change, run `npm run generate`, then `npm run check`, which names the pages of
// the project that repeat a number and must be changed, too.

/** The target for token requests and for plan requests: the share that doesn't fail with 500 or 503. */
export const availabilityTargetPercent = 99.9
/** The number of days over which the availability is computed. */
export const availabilityDays = 30
/** The first day in production, such as '2027-01-15'. Null while there is none: the site says that only tests support its numbers. */
export const inProductionSince: string | null = null

/** While D1 answers, a change of a plan or a partner applies everywhere within this time. The Worker's cache obeys it. */
export const freshnessSeconds = 120

/** While D1 fails, copies of partners and lists, in memory and in KV, are used for this long. */
export const staleIfErrorHours = 30
/** Copies in KV are renewed when a request finds them older than this. */
export const copyRenewalHours = 1

/** The next version of the API is announced this long before the current one ends. */
export const breakingChangeNoticeDays = 180

/** The history of the API and of the clients, the newest first. A date is YYYY-MM-DD, a text is Markdown without blocks. */
export const changes = [
  {
    date: '2026-11-23',
    version: '3.0.0',
    text: 'The first version: access tokens, plan lists, `openapi.json` and the clients.',
  },
] as const satisfies { date: string; version: string; text: string }[]

/** Partners write to this address with questions, and about wrong data. */
export const support = { name: 'Partner support', email: 'support@catalog.example.com' }
export const securityEmail = 'security@catalog.example.com'

/**
 * The address of the sandbox, such as 'https://sandbox.catalog.example.com': "Try it" links to its page, because no web page should
 * ask for a real secret. Null: no sandbox yet, and "Try it" asks for the credentials of a test partner.
 */
export const sandboxOrigin: string | null = null

/** Fair use: plan requests of one account per minute. The service does not refuse more. */
export const fairUsePerMinute = 60

/** Questions of partners that only the owner can answer, for the block "Support" of the site. The answers are Markdown. */
export const ownerAnswers = {
  'Hours of support': 'No hours and no response time are promised yet.',
  Escalation: 'If we don’t answer, ask the person who gave you your credentials.',
  'Mail about incidents': 'Not offered yet.',
  'Region of data':
    'Your requests are answered in Cloudflare’s data center that is nearest to your server. The region of the database is not fixed yet.',
  'License of texts, figures and artwork': 'Not defined yet. Ask before you copy artwork.',
  'Disclaimers that we require': 'No disclaimers are defined yet. Ask before you go live.',
}
