// Text files as spreadsheets and shells write them.
import { UserError } from '../shared/user-error.ts'

/**
 * Decodes UTF-8 and UTF-16.
 * @throws UserError for anything else, such as the Windows code page that Excel writes by default.
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder(detectEncoding(bytes), { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    throw new UserError('The file is not UTF-8. In a spreadsheet, save it as .xlsx, or as CSV with UTF-8.')
  }
}

/** Decodes what a shell wrote into a file. Bytes that are not text become U+FFFD. */
export function decodeLeniently(bytes: Uint8Array): string {
  // Without a byte order mark, UTF-16 has a NUL beside each ASCII character.
  return new TextDecoder(detectEncoding(bytes)).decode(bytes).replaceAll('\0', '')
}

function detectEncoding(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  // Without the mark, every other byte of UTF-16 is mostly zero.
  const sample = bytes.subarray(0, 1000)
  const countZeros = (parity: number) => sample.filter((byte, index) => byte === 0 && index % 2 === parity).length
  if (countZeros(1) > sample.length / 4) return 'utf-16le'
  return countZeros(0) > sample.length / 4 ? 'utf-16be' : 'utf-8'
}
