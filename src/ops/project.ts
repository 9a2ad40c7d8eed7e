import { resolve } from 'node:path'

/**
 * Makes the project the working folder, where wrangler finds its configuration. INIT_CWD keeps the user's folder:
 * file arguments are relative to it.
 */
export function enterProject(): void {
  process.env['INIT_CWD'] ??= process.cwd()
  process.chdir(resolve(import.meta.dirname, '../..'))
}
