// Flags that npm kept for itself, because the -- before them was forgotten.
import { toFlag } from './declaration.ts'

/**
 * npm hands a flag over as a variable: `--dry-run` as `npm_config_dry_run=true`. It sets `npm_config_yes` to nothing by itself, and
 * npx has a --yes of its own.
 * @param names all flags that commands declare. @param command such as `npm run -s ops --`. @returns the problem and its fix.
 */
export function findKeptFlags(
  names: Iterable<string>,
  variables: Readonly<Record<string, string | undefined>>,
  command: string,
): string | undefined {
  const read = (flag: string) => variables[`npm_config_${flag.slice(2).replaceAll('-', '_')}`]
  const isNpx = variables['npm_command'] === 'exec'
  const kept = [...new Set(names)].map(toFlag).filter((flag) => read(flag) && !(isNpx && flag === '--yes'))
  if (kept.length === 0) return undefined
  return `npm kept ${kept.join(' and ')} for itself: write -- before your own words, as in ${command} …. Nothing was changed.`
}
