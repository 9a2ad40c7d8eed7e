// Flags that npm kept for itself, because the -- before them was forgotten.
import { toFlag, toKebabCase } from './declaration.ts'

/**
 * npm hands a flag over as a variable: `--dry-run` as `npm_config_dry_run=true`. It sets `npm_config_yes` to nothing by itself.
 * @param names all flags that commands declare. @returns the problem and its fix.
 */
export function findKeptFlags(
  names: Iterable<string>,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const kept = [...new Set(names)].filter((name) => variables[`npm_config_${toKebabCase(name).replaceAll('-', '_')}`])
  if (kept.length === 0) return undefined
  const flags = kept.map(toFlag).join(' and ')
  return `npm kept ${flags} for itself: write -- before the command, such as npm run -s ops -- catalog check, or use npx ops. Nothing was changed.`
}
