// Decodes text files as spreadsheets and shells write them.
import { UserError } from '../shared/user-error.ts'

/** @throws UserError unless the bytes are UTF-8, or UTF-16 with a byte order mark: Excel writes another code page by default. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder(detectEncoding(bytes), { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError('The file is not UTF-8. In a spreadsheet, save it as .xlsx, or as CSV with UTF-8.')
  }
}

/** Decodes any bytes, such as a file that a shell wrote. Bytes that are not text become U+FFFD. */
export function decodeLeniently(bytes: Uint8Array): string {
  // UTF-16 without a byte order mark is decoded as UTF-8. Then each ASCII character has a NUL beside it.
  return new TextDecoder(detectEncoding(bytes)).decode(bytes).replaceAll('\0', '')
}

/** Recognizes UTF-16 by its byte order mark. Takes all other text for UTF-8. */
function detectEncoding([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
}
