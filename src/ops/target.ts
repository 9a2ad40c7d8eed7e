// Where a command's store is: the flags that say so, and commands to paste that say the same.
import { Option, type Command } from 'commander'

/** Where a store is, as the flags of a command say it. */
export interface Target {
  remote?: boolean
  /** An environment of wrangler.toml. */
  env?: string
  /** The local state folder, as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** A command with the flags that say where its store is, and an example in its help. */
export function addCommand(noun: Command, usage: string, description: string, example: string): Command {
  const remote = new Option('--remote', 'work on the deployed environment, not on the local state')
  return noun
    .command(usage)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run -s ops -- ${noun.name()} ${example}\n`)
    .addOption(remote.conflicts('persistTo'))
    .addOption(new Option('--env <name>', 'an environment of wrangler.toml, as in wrangler').env('CLOUDFLARE_ENV'))
    .option('--persist-to <dir>', 'the local state folder, as in wrangler: relative to the project')
}

/** A command on the same target, to paste. */
export function describeCommand(target: Target, ...words: string[]): string {
  return ['npm run -s ops --', ...words.map(quote), ...targetFlags(target)].join(' ')
}

export function describeMigration(target: Target): string {
  const flags = targetFlags(target)
  return ['npm run -s migrate --', ...(target.remote ? [] : ['--local']), ...flags].join(' ')
}

function targetFlags({ remote, env, persistTo }: Target): string[] {
  return [
    ...(remote ? ['--remote'] : []),
    ...(env === undefined ? [] : ['--env', quote(env)]),
    ...(persistTo === undefined ? [] : ['--persist-to', quote(persistTo)]),
  ]
}

function quote(word: string): string {
  return /^[\w./:=@…-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
