// Experiments with the database of the proof, over Cloudflare's HTTP API. Each makes tables of its own, and drops them.
import { readPath } from '../../json.ts'
import { openAccount, type Call } from '../store/cloudflare-api.ts'
import { UserError } from '../shared/user-error.ts'
import { CloudflareError } from '../store/failure.ts'
import { conclude, type Experiment, type Outcome } from './experiment.ts'

export interface DatabaseLab {
  env: string
  call: Call
  /** The path of the database below the account. */
  path: string
  /** A token with too few permissions, if the user has set one. */
  weakToken: string | undefined
}

const undocumented = 'not documented'
const issues = 'issues of cloudflare/workers-sdk'

export const databaseExperiments: Experiment<DatabaseLab>[] = [
  {
    assumption: 'A batch of D1’s HTTP API is one transaction. Nothing relies on it: each change is one statement.',
    source: undocumented,
    experiment: 'A batch whose second statement fails: did the first leave a row?',
    run: (lab) => findRowsAfterFailure(lab, (inserts) => ({ batch: inserts.map((sql) => ({ sql, params: [] })) })),
  },
  {
    assumption: 'The statements of one text are one transaction, so a migration that fails leaves nothing behind.',
    source: 'tried in the local runtime',
    experiment: 'The same two statements as one text, as a migration is sent.',
    run: (lab) => findRowsAfterFailure(lab, (inserts) => ({ sql: inserts.map((sql) => `${sql};\n`).join('') })),
  },
  {
    assumption: 'D1’s server splits the text of a migration wrongly where it has forms that the migrations avoid.',
    source: issues,
    experiment: 'A trigger with CASE, BEGIN in lower case, comments with an apostrophe or a semicolon, CRLF.',
    run: async (lab) => {
      const [refused, lost]: [string[], string[]] = [[], []]
      for (const [name, sql] of Object.entries(riskyForms)) {
        const text = `create table proof_split (id integer);\n${sql}\nselect 1;\n`
        try {
          const outcome = await tryQuery(lab, { sql: text })
          const made = await readCell(lab, "select count(*) from sqlite_master where tbl_name = 'proof_split'")
          if (outcome instanceof CloudflareError) refused.push(name)
          else if (made !== (/^create trigger/i.test(sql) ? 2 : 1)) lost.push(name)
        } finally {
          await query(lab, 'drop table if exists proof_split')
        }
      }
      const found = `Refused: ${refused.join('; ') || 'none'}.`
      return {
        verdict: 'answered',
        found: lost.length === 0 ? found : `${found} Accepted, but not made: ${lost.join('; ')}.`,
      }
    },
  },
  {
    assumption: 'An answer of 1 MB arrives. The command line reads pages of 0.3 MB.',
    source: undocumented,
    experiment: 'Answers of 1 MB, 2 MB and so on up to 16 MB.',
    run: async (lab) => {
      let largest = 0
      for (const megabytes of [1, 2, 4, 8, 16]) {
        const sql = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${megabytes}) select replace(hex(zeroblob(500000)), '0', 'x') from n`
        const outcome = await tryQuery(lab, { sql, params: [] }, 'raw')
        const found = `${largest} MB arrived, ${megabytes} MB did not`
        if (outcome instanceof CloudflareError) return conclude(largest > 0, `${found}: ${outcome.message}`)
        const rows = readPath(outcome, 0, 'results', 'rows')
        const characters = Array.isArray(rows) ? rows.flat().join('').length : 0
        if (characters !== megabytes * 1_000_000)
          return conclude(largest > 0, `${found}: its rows have ${characters} characters.`)
        largest = megabytes
      }
      return conclude(true, `${largest} MB arrived. More was not tried.`)
    },
  },
  {
    assumption: 'A value has at most about 2,000,000 bytes.',
    source: 'D1’s documentation; the local runtime takes 4 MiB',
    experiment: 'A parameter of 1,990,000 bytes, and one of 2,010,000: is it stored?',
    run: (lab) =>
      withTable(lab, 'value text', async () => {
        const fits = await storeText(lab, 1_990_000)
        const exceeds = await storeText(lab, 2_010_000)
        return conclude(fits === 'stored' && exceeds !== 'stored', `1,990,000 bytes: ${fits}; 2,010,000: ${exceeds}.`)
      }),
  },
  {
    assumption: 'An answer of /raw may leave out the rows of a statement that returns none.',
    source: 'Cloudflare’s TypeScript client',
    experiment: 'An INSERT over /raw: are there rows in its answer?',
    run: async (lab) => {
      const sql = 'insert into proof_scratch values (1)'
      const answer = await withTable(lab, 'value integer', () => post(lab, 'raw', { sql, params: [] }))
      const rows = readPath(answer, 0, 'results', 'rows')
      return {
        verdict: 'answered',
        found: Array.isArray(rows) ? `There are ${rows.length}.` : 'The answer has no rows.',
      }
    },
  },
  {
    assumption: 'One statement can copy 10,000 plans: D1 ends it after 30 s.',
    source: 'D1’s documentation; 0.14 s in the local runtime',
    experiment: 'One INSERT … SELECT of 10,000 rows of 2,000 bytes, in a table with an index.',
    run: (lab) =>
      withTable(lab, planColumns, async () => {
        await query(lab, fillPlans)
        try {
          const ms = Number(readPath(await query(lab, copyPlans), 0, 'meta', 'duration'))
          const rows = await countRows(lab)
          return conclude(ms < 30_000 && rows === 20_000, `It took ${Math.round(ms)} ms; then there were ${rows} rows.`)
        } catch (error) {
          if (error instanceof CloudflareError) return conclude(false, error.message)
          throw error
        }
      }),
  },
  {
    assumption: 'A token with too few permissions is refused with 401 or 403.',
    source: undocumented,
    experiment: 'A query with the token in PROOF_WEAK_TOKEN, if it is set.',
    run: async ({ env, path, weakToken }) => {
      if (!weakToken) return { verdict: 'not tried', found: 'PROOF_WEAK_TOKEN is not set.' }
      const call = await openWeakAccount(env, weakToken)
      const control = await catchRefusal(() => call('GET', '/workers/scripts'))
      if (control instanceof CloudflareError)
        return {
          verdict: 'not tried',
          found: `PROOF_WEAK_TOKEN must be valid, and may read Workers Scripts. ${nameWeakToken(control)}`,
        }
      const outcome = await catchRefusal(() => call('POST', `${path}/raw`, { sql: 'select 1', params: [] }))
      if (!(outcome instanceof CloudflareError))
        return conclude(false, 'It was allowed: PROOF_WEAK_TOKEN has enough permissions.')
      return conclude(/\((401|403)\)/.test(outcome.message), outcome.message.replace(/ Check that .*$/, ''))
    },
  },
]

/** @throws UserError when the token has characters that no token has. */
async function openWeakAccount(env: string, weakToken: string): Promise<Call> {
  const { CLOUDFLARE_API_TOKEN: token } = process.env
  process.env['CLOUDFLARE_API_TOKEN'] = weakToken
  try {
    return (await openAccount({ remote: true, env })).call
  } catch (error) {
    throw error instanceof UserError ? new UserError(nameWeakToken(error)) : error
  } finally {
    process.env['CLOUDFLARE_API_TOKEN'] = token
  }
}

function nameWeakToken({ message }: Error): string {
  return message.replaceAll('CLOUDFLARE_API_TOKEN', 'PROOF_WEAK_TOKEN')
}

/** As the table of plans: a document, and an index of a column that is computed from it. */
const planColumns = `id integer primary key, document text not null,
  identifier text not null unique generated always as (document ->> '$.identifier') virtual`
const fillPlans = `insert into proof_scratch (id, document)
  with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000)
  select i, json_object('identifier', 'plan-' || i, 'text', printf('%.*c', 2000, 'x')) from n`
const copyPlans = `insert into proof_scratch (id, document)
  select id + 10000, json_set(document, '$.identifier', 'copy-' || id) from proof_scratch`

const riskyForms = {
  'CASE in a trigger':
    'CREATE TRIGGER proof_case AFTER INSERT ON proof_split BEGIN\nSELECT CASE WHEN 1 THEN 2 END;\nEND;',
  'BEGIN in lower case': 'create trigger proof_lower after insert on proof_split begin\nselect 1;\nend;',
  'an apostrophe in a comment': "-- A partner's table.",
  'a semicolon in a comment': '-- One; two.',
  'CRLF in a trigger': 'CREATE TRIGGER proof_crlf AFTER INSERT ON proof_split\r\nBEGIN\r\nSELECT 1;\r\nEND;\r',
}

/** @returns `stored`, or how it was refused. */
async function storeText(lab: DatabaseLab, bytes: number): Promise<string> {
  const sql = 'insert into proof_scratch values (?)'
  const outcome = await tryQuery(lab, { sql, params: ['x'.repeat(bytes)] })
  if (outcome instanceof CloudflareError) return `refused (${outcome.message})`
  const length = await readCell(lab, 'select max(length(value)) from proof_scratch')
  return length === bytes ? 'stored' : `cut to ${String(length)}`
}

const post = ({ call, path }: DatabaseLab, kind: 'query' | 'raw', body: object) => call('POST', `${path}/${kind}`, body)

const query = (lab: DatabaseLab, sql: string) => post(lab, 'query', { sql, params: [] })

/** @returns Cloudflare's refusal instead of throwing it. Any other failure decides nothing. */
async function catchRefusal(run: () => Promise<unknown>): Promise<unknown> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof CloudflareError && error.kind === 'refused') return error
    throw error
  }
}

const tryQuery = (lab: DatabaseLab, body: object, kind: 'query' | 'raw' = 'query') =>
  catchRefusal(() => post(lab, kind, body))

async function readCell(lab: DatabaseLab, sql: string): Promise<unknown> {
  return readPath(await post(lab, 'raw', { sql, params: [] }), 0, 'results', 'rows', 0, 0)
}

/** Runs `work` while there is an empty table proof_scratch. */
async function withTable<T>(lab: DatabaseLab, column: string, work: () => Promise<T>): Promise<T> {
  await query(lab, `create table proof_scratch (${column})`)
  try {
    return await work()
  } finally {
    await query(lab, 'drop table if exists proof_scratch')
  }
}

const countRows = async (lab: DatabaseLab) => Number(await readCell(lab, 'select count(*) from proof_scratch'))

/** @param buildBody makes the body of a call from statements. */
async function findRowsAfterFailure(
  lab: DatabaseLab,
  buildBody: (inserts: readonly string[]) => object,
): Promise<Outcome> {
  const insert = (...values: number[]) =>
    post(lab, 'query', buildBody(values.map((value) => `insert into proof_scratch values (${value})`)))
  return withTable(lab, 'value integer primary key', async () => {
    await insert(1, 2)
    const before = await countRows(lab)
    if (before !== 2) throw new UserError(`Two inserts that are right left ${before} rows.`)
    const outcome = await catchRefusal(() => insert(3, 3))
    if (!(outcome instanceof CloudflareError)) return conclude(false, 'It did not fail.')
    if (!outcome.message.includes('UNIQUE')) throw outcome
    const left = (await countRows(lab)) - before
    return conclude(left === 0, left === 0 ? 'Everything was rolled back.' : `${left} row was left.`)
  })
}
