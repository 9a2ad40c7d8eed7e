// Where a store is, and how messages name commands: with the flags that reach the same store.

/** Where a store is: the local state, or with `remote` a deployed environment. */
export interface Target {
  remote?: boolean
  /** The deployed environment, by its name in wrangler.toml. */
  env?: string
  /** The local state folder, as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** `[local]`, or `[production]`: begins each question about a change, and each report of one. */
export function describePlace({ env = 'local' }: Target): string {
  return `[${env}]`
}

/** The commands that are scripts of package.json: `npm run dev`. */
const scripts = new Set(['dev', 'migrate', 'deploy', 'smoke'])

/** @param words a command such as `partner list`. @returns `npm run -s ops -- partner list`, or for a script `npm run deploy -- --env staging`. */
export function describeStart(words: string): string {
  const [first = '', ...others] = words.split(' ')
  return scripts.has(first) ? ['npm run', first, '--', ...others].join(' ') : `npm run -s ops -- ${words}`
}

/** `npm run -s ops -- partner list --remote --env staging` */
export function describeCommand(target: Target, ...words: string[]): string {
  return [describeStart(quoteWords(words)), ...describeFlags(target)].join(' ')
}

/** Joins words to a line that a POSIX shell splits into the same words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quote).join(' ')
}

/** SQLite's error when the database lacks a migration. */
export const outdatedSchema = /no such (?:table|column)|has no column named/

/** @returns the command that migrates the database of a target. */
export function describeMigration(target: Target): string {
  return describeCommand(target, 'migrate', ...(target.remote ? [] : ['--local']))
}

/** @returns the command that deploys an environment. */
export function describeDeploy({ env }: Target): string {
  return `${describeStart('deploy')} --env ${env}`
}

function describeFlags({ remote, env, persistTo }: Target): string[] {
  return [
    ...(remote ? ['--remote'] : []),
    ...(env === undefined ? [] : ['--env', quote(env)]),
    ...(persistTo === undefined ? [] : ['--persist-to', quote(persistTo)]),
  ]
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  return /^[\w./:=@…-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
