import { ConfigError } from '../api/config.ts'
import { enterProject } from './project.ts'
import { UserError } from './shared/user-error.ts'

/**
 * Runs a program around wrangler, and exits with 2 after a mistake of the user.
 * @param run returns the exit code.
 */
export async function runInProject(run: () => Promise<number>): Promise<void> {
  enterProject()
  const code = await run().catch((error: unknown) => {
    if (!(error instanceof UserError) && !(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 2
  })
  // A store that failed to open can leave handles behind that would keep the process alive.
  process.stdout.write('', () => process.exit(code))
}
