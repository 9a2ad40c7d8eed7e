// Experiments with the database of the proof, over Cloudflare's HTTP API. Each makes tables of its own, and drops them.
import { readPath } from '../../json.ts'
import { openAccount, type Call } from '../store/cloudflare-api.ts'
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
    run: (lab) => {
      const insert = { sql: 'insert into proof_scratch values (1)', params: [] }
      return findRowsAfterFailure(lab, { batch: [insert, insert] })
    },
  },
  {
    assumption: 'The statements of one text are one transaction, so a migration that fails leaves nothing behind.',
    source: 'tried in the local runtime',
    experiment: 'The same two statements as one text, as a migration is sent.',
    run: (lab) => {
      const insert = 'insert into proof_scratch values (1);'
      return findRowsAfterFailure(lab, { sql: `${insert}\n${insert}\n` })
    },
  },
  {
    assumption: 'D1’s server splits the text of a migration wrongly where it has forms that the migrations avoid.',
    source: issues,
    experiment: 'A trigger with CASE, BEGIN in lower case, comments with an apostrophe or a semicolon, CRLF.',
    run: async (lab) => {
      const refused: string[] = []
      for (const [name, sql] of Object.entries(riskyForms)) {
        const text = `create table proof_split (id integer);\n${sql}\nselect 1;\n`
        const outcome = await tryQuery(lab, { sql: text })
        if (outcome instanceof CloudflareError) refused.push(name)
        await query(lab, 'drop table if exists proof_split')
      }
      return { verdict: 'answered', found: `Refused: ${refused.join('; ') || 'none'}.` }
    },
  },
  {
    assumption: 'An answer of 1 MB arrives. The command line reads pages of 0.3 MB.',
    source: undocumented,
    experiment: 'Answers of 1 MB, 2 MB and so on up to 16 MB.',
    run: async (lab) => {
      let largest = 0
      for (const megabytes of [1, 2, 4, 8, 16]) {
        const sql = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${megabytes}) select printf('%.*c', 1000000, 'x') from n`
        const outcome = await tryQuery(lab, { sql, params: [] }, 'raw')
        const found = `${largest} MB arrived, ${megabytes} MB did not`
        if (outcome instanceof CloudflareError) return conclude(largest > 0, `${found}: ${outcome.message}`)
        largest = megabytes
      }
      return conclude(true, `${largest} MB arrived. More was not tried.`)
    },
  },
  {
    assumption: 'A value has at most 2,000,000 bytes.',
    source: 'D1’s documentation; the local runtime takes 4 MiB',
    experiment: 'A text of 2,000,000 bytes, and one of 2,200,000.',
    run: async (lab) => {
      const [fits, exceeds] = await withTable(lab, 'value text', async () => [
        await tryQuery(lab, insertText(2_000_000)),
        await tryQuery(lab, insertText(2_200_000)),
      ])
      const [isStored, isRefused] = [!(fits instanceof CloudflareError), exceeds instanceof CloudflareError]
      const found = `2,000,000 bytes are ${isStored ? 'stored' : 'refused'}, 2,200,000 are ${isRefused ? 'refused' : 'stored'}.`
      return conclude(isStored && isRefused, found)
    },
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
    experiment: 'One INSERT of 10,000 rows of 2,000 bytes.',
    run: async (lab) => {
      const sql = `with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000) insert into proof_scratch select printf('%.*c', 2000, 'x') from n`
      const answer = await withTable(lab, 'value text', () => query(lab, sql))
      const ms = Number(readPath(answer, 0, 'meta', 'duration'))
      return conclude(ms < 30_000, `It took ${Math.round(ms)} ms.`)
    },
  },
  {
    assumption: 'A token with too few permissions is refused with 401 or 403.',
    source: undocumented,
    experiment: 'A query with the token in PROOF_WEAK_TOKEN, if it is set.',
    run: async ({ env, path, weakToken }) => {
      if (!weakToken) return { verdict: 'not tried', found: 'PROOF_WEAK_TOKEN is not set.' }
      const { CLOUDFLARE_API_TOKEN: token } = process.env
      try {
        process.env['CLOUDFLARE_API_TOKEN'] = weakToken
        const { call } = await openAccount({ remote: true, env })
        await call('POST', `${path}/raw`, { sql: 'select 1', params: [] })
        return conclude(false, 'It was allowed: the token has enough permissions.')
      } catch (error) {
        if (!(error instanceof CloudflareError)) throw error
        return conclude(/\((401|403)\)/.test(error.message), error.message)
      } finally {
        process.env['CLOUDFLARE_API_TOKEN'] = token
      }
    },
  },
]

const riskyForms = {
  'CASE in a trigger':
    'CREATE TRIGGER proof_case AFTER INSERT ON proof_split BEGIN\nSELECT CASE WHEN 1 THEN 2 END;\nEND;',
  'BEGIN in lower case': 'create trigger proof_lower after insert on proof_split begin\nselect 1;\nend;',
  'an apostrophe in a comment': "-- A partner's table.",
  'a semicolon in a comment': '-- One; two.',
  'CRLF in a trigger': 'CREATE TRIGGER proof_crlf AFTER INSERT ON proof_split\r\nBEGIN\r\nSELECT 1;\r\nEND;\r',
}

function insertText(bytes: number) {
  return { sql: `insert into proof_scratch values (printf('%.*c', ${bytes}, 'x'))`, params: [] }
}

function post({ call, path }: DatabaseLab, kind: 'query' | 'raw', body: object): Promise<unknown> {
  return call('POST', `${path}/${kind}`, body)
}

function query(lab: DatabaseLab, sql: string): Promise<unknown> {
  return post(lab, 'query', { sql, params: [] })
}

/** @returns Cloudflare's error instead of throwing it. */
async function tryQuery(lab: DatabaseLab, body: object, kind: 'query' | 'raw' = 'query'): Promise<unknown> {
  try {
    return await post(lab, kind, body)
  } catch (error) {
    if (error instanceof CloudflareError) return error
    throw error
  }
}

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

/** @param body two inserts, the second of which must fail. */
async function findRowsAfterFailure(lab: DatabaseLab, body: object): Promise<Outcome> {
  return withTable(lab, 'value integer primary key', async () => {
    const outcome = await tryQuery(lab, body)
    if (!(outcome instanceof CloudflareError)) return conclude(false, 'It did not fail.')
    if (outcome.kind !== 'refused') throw outcome
    const rows = Number(await readCell(lab, 'select count(*) from proof_scratch'))
    return conclude(rows === 0, rows === 0 ? 'Everything was rolled back.' : `${rows} row was left.`)
  })
}
