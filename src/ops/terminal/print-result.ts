import type { Io } from './io.ts'

/**
 * Prints what a command found: with --json as one line of JSON, otherwise as text for people.
 * @param note goes to stderr, for people only.
 */
export function printResult(
  { stdout, stderr }: Pick<Io, 'stdout' | 'stderr'>,
  { json }: { json?: boolean },
  value: unknown,
  text: string,
  note?: string,
): void {
  stdout.write(json ? `${JSON.stringify(value)}\n` : text)
  if (!json && note !== undefined) stderr.write(`${note}\n`)
}
