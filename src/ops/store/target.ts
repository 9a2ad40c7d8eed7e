// Where a command's store is: the flags that say so, and commands to paste that say the same.
import { Option, type Command } from 'commander'
import { UserError } from '../core/user-error.ts'

/** Where a store is, as the flags of a command say it. */
export interface Target {
  remote?: boolean
  /** The deployed environment of wrangler.toml. */
  env?: string
  /** The local state folder, as in `wrangler dev --persist-to`; `.wrangler/state` by default. */
  persistTo?: string
}

/** A command with the flags that say where its store is, and an example in its help. */
export function addCommand(noun: Command, usage: string, description: string, example: string): Command {
  const state = new Option('--persist-to <dir>', 'the local state folder, as in wrangler: relative to the project')
  return addStatelessCommand(noun, usage, description, example).addOption(state.conflicts('remote'))
}

/** The same, for what does not lie in a store. */
export function addStatelessCommand(noun: Command, usage: string, description: string, example: string): Command {
  return noun
    .command(usage)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run -s ops -- ${noun.name()} ${example}\n`)
    .option('--remote', 'work on a deployed environment, not on the local state')
    .option('--env <name>', 'which one, as in wrangler: staging or production')
    .hook('preAction', (_, command) => checkTarget(command.opts<Target>()))
}

/** @throws UserError when half of a target is named: nobody gets what they did not mean. */
function checkTarget({ remote = false, env }: Target): void {
  if (remote && !env)
    throw new UserError('--remote needs an environment of wrangler.toml: add --env, such as --env staging.')
  if (!remote && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
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
