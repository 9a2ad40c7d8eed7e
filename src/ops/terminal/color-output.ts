import { styleText } from 'node:util'
import type { Io } from './io.ts'

const styles = [
  [/^ *\+ .*$/gm, 'green'],
  [/^ *- .*$/gm, 'red'],
  [/^Warning: .*$/gm, 'yellow'],
] as const

/** Colors what is added, what is removed and warnings, on a terminal without NO_COLOR (https://no-color.org). */
export function colorOutput(io: Io, variables: Readonly<Record<string, string | undefined>>): Io {
  const color = (stream: Io['stdout']): Io['stdout'] =>
    stream.isTTY && !variables['NO_COLOR']
      ? { isTTY: true, ...(stream.columns && { columns: stream.columns }), write: (text) => stream.write(paint(text)) }
      : stream
  return { ...io, stdout: color(io.stdout), stderr: color(io.stderr) }
}

function paint(text: string): string {
  return styles.reduce(
    (painted, [pattern, style]) =>
      painted.replaceAll(pattern, (line) => styleText(style, line, { validateStream: false })),
    text,
  )
}
