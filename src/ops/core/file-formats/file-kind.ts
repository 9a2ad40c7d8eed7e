// Finds out what a file is by its content: its name may say something else.
import { unzipSync } from 'fflate'
import { UserError } from '../../shared/user-error.ts'

const saveAs = 'Open it in a spreadsheet, and save it as .xlsx.'

type Kind = [pattern: RegExp, name: string, fix: string]

/** Kinds of files that can’t be read, by a pattern of their first 4,000 bytes as `showBytes` returns them; of an old Office file, of all bytes. */
const kinds: readonly Kind[] = [
  [
    /^ÐÏ.à.*EncryptedPackage/s,
    'encrypted, for example with a password',
    'Save a copy without the password as .xlsx. In Excel, empty it in File, Info, Protect Workbook, Encrypt with Password.',
  ],
  [/^ÐÏ.à|^\t(?!\s)\p{Cc}/u, 'an old Office file, such as .xls', saveAs],
  [/^\s*<(?:(?:.*<)?html|!doctype html|table|meta|style|head|body|div)\b/is, 'a web page (HTML)', saveAs],
  [/^\s*<\?xml/, 'XML', saveAs],
  [/^MIME-Version:/i, 'a web page in one file (MHTML)', saveAs],
  [/^(?:\p{Cc}‹|7z¼¯|Rar!)/u, 'packed', 'Unpack it first.'],
  [/^%PDF/, 'a PDF', 'Ask its sender for the spreadsheet.'],
  [/^\{\\rtf/, 'a document (RTF)', 'Ask its sender for the spreadsheet.'],
]

/** Kinds of ZIP archives that can’t be read, by a pattern of the names of their parts, one in each line. */
const archiveKinds: readonly Kind[] = [
  [/^xl\/workbook\.bin$/m, 'an .xlsb workbook', saveAs],
  [/\.iwa$|^Index\.zip$/m, 'of Numbers', 'In Numbers, choose File, Export To, Excel.'],
  [/^content\.xml$/m, 'an OpenDocument file, such as .ods', saveAs],
  [/^(?:word|ppt)\//m, 'of Word or PowerPoint', 'Ask its sender for the spreadsheet.'],
  [
    /^(?!(?:.*\n)?\[Content_Types\]\.xml(?:\n|$))./s,
    'a ZIP archive',
    'Unpack it, and take the .xlsx or .csv file in it.',
  ],
]

/** @throws UserError for a file of another kind: says what the file is, and how to get one that can be read. */
export function judgeFile(bytes: Uint8Array): 'xlsx' | 'text' {
  const start = showBytes(bytes.subarray(0, 4000))
  const isArchive = start.startsWith('PK\u0003\u0004')
  const content = start.startsWith('ÐÏ') ? showBytes(bytes) : start
  const found = isArchive
    ? archiveKinds.find(([pattern]) => pattern.test(listParts(bytes)))
    : kinds.find(([pattern]) => pattern.test(content))
  if (found === undefined) return isArchive ? 'xlsx' : 'text'
  const [, name, fix] = found
  throw new UserError([`The file is ${name}.`, fix])
}

/** @returns a character for each byte, without a byte order mark and without the zero bytes that UTF-16 has in ASCII. */
function showBytes(bytes: Uint8Array): string {
  return new TextDecoder('latin1').decode(bytes).replaceAll(/^(?:ÿþ|þÿ|ï»¿)|\0/g, '')
}

/** @returns the names of the parts of an archive, one in each line; an empty text for a damaged archive. */
function listParts(bytes: Uint8Array): string {
  const names: string[] = []
  const filter = ({ name }: { name: string }) => names.push(name) === 0
  try {
    unzipSync(bytes, { filter })
  } catch {
    return ''
  }
  return names.join('\n')
}
