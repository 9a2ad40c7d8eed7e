// What partners can rely on, and whom they write to. The owner of the service edits this file. The Worker's cache, `ops watch`,
// the site's page "What you can rely on", openapi.json and security.txt read it; after a change, run `npm run generate`.
// `npm run check` names the pages that repeat a number and must follow.

/** The target for the requests for tokens, and for those for lists: the share that doesn't fail with 500 or 503. */
export const availabilityTargetPercent = 99.9
/** The availability is computed over as many days. */
export const availabilityDays = 30
/**
 * The day since which the service answers partners on Cloudflare, such as '2027-01-15'. Null: it does not yet, and the page says
 * that only simulations support its numbers.
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

/** For partners' questions, and for wrong data. */
export const support = { name: 'Partner support', email: 'support@catalog.example.com' }
/** For vulnerabilities. */
export const securityEmail = 'security@catalog.example.com'

/**
 * Questions of partners that only the owner can answer, for the page about the catalog. An answer is Markdown without blocks.
 * Null: the page says "Ask support".
 */
export const ownerAnswers: Record<string, string | null> = {
  'What may you do with the texts, figures and artwork (license)?': null,
  'Which disclaimers do we require?': null,
  'What are the hours of support?': null,
}
