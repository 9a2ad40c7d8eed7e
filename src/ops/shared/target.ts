// Names commands in messages, with the flags that reach the same store.

/** Says where a store is: in the local state, or with `remote` in a deployed environment. */
export interface Target {
  remote?: boolean
  /** The deployed environment, by its name in wrangler.toml. */
  env?: string
  /** The local state folder, as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** `[production]`, or `[local]`: starts a question about a change, and the report about the change. */
export function formatTarget({ env = 'local' }: Target): string {
  return `[${env}]`
}

/** The commands that are scripts of package.json, such as `npm run dev`. */
const scripts = new Set(['dev', 'migrate', 'deploy', 'smoke'])

/** @returns a text such as `npm run -s ops -- partner list` for `partner list`, or `npm run deploy -- --env staging` for a script. */
export function prefixWithNpm(commandLine: string): string {
  const [command = '', ...otherWords] = commandLine.split(' ')
  return scripts.has(command) ? ['npm run', command, '--', ...otherWords].join(' ') : `npm run -s ops -- ${commandLine}`
}

/** @returns a text such as `npm run -s ops -- partner list --remote --env staging`. */
export function describeCommand({ remote, env, persistTo }: Target, ...words: string[]): string {
  return [
    prefixWithNpm(quoteWords(words)),
    ...(remote ? ['--remote'] : []),
    ...(env === undefined ? [] : ['--env', quoteForShell(env)]),
    ...(persistTo === undefined ? [] : ['--persist-to', quoteForShell(persistTo)]),
  ].join(' ')
}

/** Joins words to a command line. A POSIX shell splits this line into the same words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteForShell).join(' ')
}

/** Matches SQLite's errors that mean that the database lacks a migration. */
export const outdatedSchema = /no such (?:table|column)|has no column named/

export function describeMigrate(target: Target): string {
  return describeCommand(target, 'migrate', ...(target.remote ? [] : ['--local']))
}

export function describeDeploy({ env }: Target): string {
  return `${prefixWithNpm('deploy')} --env ${env}`
}

function quoteForShell(word: string): string {
  return /^[\w./:=@…-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
