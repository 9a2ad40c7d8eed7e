// The environment of a command that works on nothing else.
import { Option } from 'commander'
import { abbreviate } from '../../abbreviate.ts'
import { UserError } from '../shared/user-error.ts'

export function environmentOption(): Option {
  return new Option('--env <name>', 'the environment, as in wrangler.toml: staging or production')
}

/**
 * @param words the arguments that are no flags.
 * @throws UserError without an environment, or with words: `staging --env production` names two.
 */
export function readEnvironment(
  env: string | undefined,
  words: readonly string[],
  command: string,
  example = 'staging',
): string {
  if (env && words.length === 0) return env
  if (env) {
    throw new UserError(`Only flags are expected, not ${words.map(abbreviate).join(' ')}. See: ${command} --help`)
  }
  throw new UserError(`Name the environment, after the -- that npm needs: ${command} --env ${example}`)
}
