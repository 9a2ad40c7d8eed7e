import { resolve } from 'node:path'

/** Wrangler finds its configuration in the working folder; files are still meant from where the user is. */
export function enterProject(): void {
  process.env['INIT_CWD'] ??= process.cwd()
  process.chdir(resolve(import.meta.dirname, '../..'))
}
