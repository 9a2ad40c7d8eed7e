// Flags that every command has: where its store is.
import { Option, type Command } from 'commander'
import { UserError } from '../shared/user-error.ts'
import type { Target } from '../shared/target.ts'

export const actorOption = new Option(
  '--as <name>',
  'who makes the change; otherwise OPS_ACTOR, or the user.email of git',
)
export const acceptOption = new Option('--accept', 'skip the question that --remote asks when a change looks wrong')
export const dueTimeOption = new Option(
  '--at <time>',
  'publish it then, such as 2026-12-01T06:00+03:00; now by default',
)
export const pastTimeOption = new Option(
  '--at <time>',
  'as it was then, such as 2026-10-03T12:00+03:00; now by default',
)

/** Adds a command that works on a store, with an example in its help. */
export function addCommand(noun: Command, usage: string, description: string, example: string): Command {
  const state = new Option('--persist-to <dir>', 'the local state folder, as in wrangler: relative to the project')
  return noun
    .command(usage)
    .description(description)
    .addHelpText('after', `\nExample:\n  npm run -s ops -- ${noun.parent ? `${noun.name()} ` : ''}${example}\n`)
    .option('--remote', 'work on a deployed environment, not on the local state')
    .option('--env <name>', 'the deployed environment, as in wrangler: staging or production')
    .addOption(state.conflicts('remote'))
    .hook('preAction', (_, command) => checkTarget(command.opts<Target>()))
}

/** Adds the flags of a command that changes something. */
export function addAttributionOptions(command: Command): Command {
  return command.addOption(actorOption).option('--note <text>', 'why, for the record')
}

/** Adds the flags of a command that changes the catalog. */
export function addPublicationOptions(command: Command): Command {
  return addAttributionOptions(command).addOption(dueTimeOption).addOption(acceptOption)
}

/** @throws UserError when only one of --remote and --env is given. */
function checkTarget({ remote = false, env }: Target): void {
  if (remote && !env) throw new UserError('--remote needs an environment: add --env, such as --env staging.')
  if (!remote && env !== undefined) throw new UserError('--env names a deployed environment: add --remote.')
}
