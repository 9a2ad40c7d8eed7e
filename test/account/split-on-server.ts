// Splits a text into SQL statements as D1's server does, according to reports: https://github.com/cloudflare/workers-sdk/issues/15690,
// /issues/14991, /issues/3892. It cuts at each semicolon outside of quotes, and does not know comments.
import { Refusal } from './api.ts'

const statement = /(?:'[^']*'|[^;])+/g

export async function splitOnServer(text: string): Promise<string[]> {
  const { unstable_splitSqlQuery: splitSqlQuery } = await import('wrangler')
  const parts = text.match(statement)?.filter((part) => part.trim() !== '') ?? []
  for (const part of parts) {
    const code = part.replaceAll(/--.*|\/\*[^]*?\*\//g, '').trim()
    if (code === '') throw new Refusal(400, 7500, 'SQL code did not contain a statement.')
    // An apostrophe in a comment hides the end of a statement.
    if (splitSqlQuery(part).length > 1) throw new Refusal(400, 7500, 'incomplete input: SQLITE_ERROR')
  }
  return parts
}
