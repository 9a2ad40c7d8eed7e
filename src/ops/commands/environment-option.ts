// The environment of a command that works on nothing else.
import { Option } from 'commander'
import { UserError } from '../core/user-error.ts'

export function environmentOption(): Option {
  return new Option('--env <name>', 'the environment, as in wrangler.toml: staging or production')
}

/** @throws UserError without an environment. */
export function readEnvironment(env: string | undefined, command: string): string {
  if (env) return env
  throw new UserError(`Name the environment, after the -- that npm needs: ${command} --env staging`)
}
