// The text of a file that an editor, a spreadsheet or a shell wrote.
import { UserError } from './user-error.ts'

/**
 * Decodes UTF-8, with or without a byte order mark, and UTF-16 with one, which `>` writes in Windows PowerShell.
 * @throws UserError when it is neither.
 */
export function decodeText(bytes: Uint8Array): string {
  const encoding = findEncoding(bytes)
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError(
      `The file is not ${encoding.toUpperCase()} text. Save it again with the encoding UTF-8, or export it again.`,
    )
  }
}

function findEncoding([first, second]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return 'utf-8'
}
